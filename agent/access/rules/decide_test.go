package rules_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/access/rules"
)

func cut(text, separator string) (before, after string) {
	before, after, _ = strings.Cut(text, separator)
	return before, after
}

// makeRequest understands "METHOD PATH"; a method that ends with + upgrades.
func makeRequest(t *testing.T, text string) rules.Request {
	t.Helper()
	method, target := cut(text, " ")
	method, upgrades := strings.CutSuffix(method, "+")
	path, query := cut(target, "?")
	out, err := rules.Parse(method, path, query, upgrades)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// decide decides for alice of group ops.
func decide(t *testing.T, lists rules.Lists, request string) rules.Decision {
	t.Helper()
	if lists.Operators == nil {
		lists.Operators = []string{"group:ops"}
	}
	r, err := rules.New(lists)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return rules.Decide(rules.Input{Cluster: "edge-1", Rules: r, Operator: rules.Operator{User: "alice", Groups: []string{"ops"}}, Request: makeRequest(t, request)})
}

const (
	pods = "/api/v1/namespaces/shop/pods"
	web  = pods + "/web-0"
)

// TestRightsOfOperators has, for each request, what the owner must allow beside reading; "never" is what no owner can.
func TestRightsOfOperators(t *testing.T) {
	t.Parallel()
	for request, needed := range map[string]string{
		"GET " + web: "", "GET " + pods + "?watch=1": "", "GET /api/v1/nodes": "", "GET " + web + "/log?follow=true": "", "GET /version": "",
		"GET /openapi/v3/apis/apps/v1": "", "GET /api/v1/namespaces/shop": "", "GET /apis/apps/v1/deployments": "", "GET /apis/metrics.k8s.io/v1beta1/nodes": "",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": "", "GET /api/v1/namespaces/karmada-system/pods": "",
		"GET+ " + web + "/exec?command=sh": "exec", "POST+ " + web + "/exec": "exec", "GET " + web + "/exec": "exec", "GET+ " + web + "/attach": "exec",
		"GET+ " + web + "/portforward": "port-forward", "POST+ " + web + "/portforward": "port-forward",
		"POST " + pods: "write", "DELETE " + web: "write", "DELETE " + pods: "write", "PATCH /apis/apps/v1/namespaces/shop/deployments/web/scale": "write",
		"POST " + web + "/eviction": "write", "PATCH " + web + "/ephemeralcontainers": "write,exec", "PUT /api/v1/nodes/n/status": "write",
		"GET /api/v1/namespaces/shop/secrets": "secrets", "GET /api/v1/namespaces/shop/secrets?watch": "secrets", "PUT /api/v1/namespaces/shop/secrets/s": "write,secrets",
		"POST /api/v1/namespaces/shop/serviceaccounts/x/token": "secrets", "GET " + web + "/proxy/metrics": "pods/proxy", "GET+ " + web + "/proxy/ws": "pods/proxy",
		"POST /api/v1/namespaces/shop/services/web:80/proxy/a": "services/proxy", "GET /api/v1/nodes/n/proxy/run/shop/web-0/c": "nodes/proxy",

		"GET /metrics": "never", "GET /debug/pprof/heap": "never", "GET /logs/kube-apiserver.log": "never", "POST /version": "never", "GET+ /version": "never", "GET /": "never",
		"GET+ " + pods + "?watch=1": "never", "GET+ " + web: "never", "GET+ " + web + "/log": "never", "POST " + web + "/log": "never", "GET " + web + "/exec/more": "never",
		"POST " + web + "/binding": "never", "POST /api/v1/namespaces/shop/bindings": "never", "PUT /api/v1/namespaces/shop/finalize": "never",
		"GET /api/v1/nodes/n/log": "never", "PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval": "never",
		"GET /apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/v/console": "never", "GET /apis/cert-manager.io/v1/certificates": "never",
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews": "never", "POST /apis/authentication.k8s.io/v1/tokenreviews": "never",
		"DELETE /api/v1/namespaces/karmada-system/pods/a": "never", "GET /api/v1/namespaces/karmada-system/secrets": "never",
		"GET+ /api/v1/namespaces/karmada-system/pods/a/exec": "never", "DELETE /api/v1/namespaces/karmada-system": "never",
		"POST /api/v1/namespaces/karmada-system/serviceaccounts/fairlead-agent/token":                      "never",
		"PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/fairlead-connect":                           "never",
		"DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/fairlead-agent":                     "never",
		"PUT /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings/fairlead-connect-impersonate": "never",
		// Among all of them are the agent's own.
		"GET /api/v1/secrets": "never", "GET /api/v1/secrets?watch": "never", "GET /api/v1/watch/secrets": "never",
		"GET /api/v1/secrets?fieldSelector=metadata.namespace%3Dkarmada-system":                                       "never",
		"DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings?fieldSelector=metadata.name%3Dfairlead-agent":  "never",
		"DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles":                                                      "never",
		"DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings?labelSelector=app.kubernetes.io/name": "never",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			all := []string{"exec", "port-forward", "write", "secrets", "pods/proxy", "services/proxy", "nodes/proxy"}
			if needed == "never" {
				g.Expect(decide(t, rules.Lists{May: all}, request).Allowed).To(BeFalse())
				return
			}
			may := strings.FieldsFunc(needed, func(r rune) bool { return r == ',' })
			g.Expect(decide(t, rules.Lists{May: may}, request).Allowed).To(BeTrue())
			for _, without := range may {
				var rest []string
				for _, other := range all {
					if other != without {
						rest = append(rest, other)
					}
				}
				g.Expect(decide(t, rules.Lists{May: rest}, request).Allowed).To(BeFalse(), "without "+without)
			}
		})
	}
}

func TestOperatorsStayInTheirNamespaces(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]bool{
		"GET " + pods: true, "GET /api/v1/namespaces/shop": true, "GET /apis": true, "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": true,
		"GET /api/v1/pods": false, "GET /api/v1/nodes": false, "GET /api/v1/namespaces": false, "GET /api/v1/namespaces/web/pods": false, "GET /api/v1/watch/pods": false,
		"GET /api/v1/namespaces/web": false, "GET /api/v1/watch/namespaces/web/pods": false, "GET+ /api/v1/namespaces/web/pods/a/exec": false,
		"POST /api/v1/namespaces": false, "GET /api/v1/namespaces/shopping/pods": false,
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(decide(t, rules.Lists{May: []string{"exec", "write"}, In: []string{"shop"}}, request).Allowed).To(Equal(want))
		})
	}
}

func TestIdentitiesOfOperatorsInTheMember(t *testing.T) {
	t.Parallel()
	account := "system:serviceaccount:ci:argo"
	tests := map[string]struct {
		operators []string
		identity  string
		asks      rules.Operator
		want      rules.Operator
		refused   bool
	}{
		"a group's member, without other groups": {
			operators: []string{"group:ops"}, asks: rules.Operator{User: "alice", Groups: []string{"dev", "ops", "system:masters", "system:authenticated"}},
			want: rules.Operator{User: "fairlead:alice", Groups: []string{"fairlead:ops"}},
		},
		"a user, without groups":                    {operators: []string{"user:alice"}, asks: rules.Operator{User: "alice", Groups: []string{"ops"}}, want: rules.Operator{User: "fairlead:alice"}},
		"the same group, and who comes by it alone": {operators: []string{"group:ops"}, identity: "same", asks: rules.Operator{User: "alice", Groups: []string{"ops", "system:masters"}}, want: rules.Operator{User: "fairlead:alice", Groups: []string{"ops"}}},
		"the same names":                            {operators: []string{"group:ops", "user:alice"}, identity: "same", asks: rules.Operator{User: "alice", Groups: []string{"ops"}}, want: rules.Operator{User: "alice", Groups: []string{"ops"}}},
		"an account by name":                        {operators: []string{"user:" + account, "group:ops"}, identity: "same", asks: rules.Operator{User: account, Groups: []string{"ops"}}, want: rules.Operator{User: account}},
		"an account that is no account":             {operators: []string{"user:" + account}, asks: rules.Operator{User: account}, want: rules.Operator{User: "fairlead:" + account}},
		"an account by its group":                   {operators: []string{"group:ops"}, identity: "same", asks: rules.Operator{User: account, Groups: []string{"ops"}}, refused: true},
		"a system user by its group":                {operators: []string{"group:ops"}, identity: "same", asks: rules.Operator{User: "system:admin", Groups: []string{"ops"}}, refused: true},
		"somebody else":                             {operators: []string{"user:alice", "group:ops"}, asks: rules.Operator{User: "bob", Groups: []string{"dev"}}, refused: true},
		"somebody like it":                          {operators: []string{"user:alice"}, asks: rules.Operator{User: "fairlead:alice"}, refused: true},
		"an account behind a space":                 {operators: []string{"group:ops"}, identity: "same", asks: rules.Operator{User: " " + account, Groups: []string{"ops"}}, refused: true},
		"a system user behind a tab":                {operators: []string{"group:ops"}, identity: "same", asks: rules.Operator{User: "\tsystem:kube-controller-manager", Groups: []string{"ops"}}, refused: true},
		"somebody else before a space":              {operators: []string{"group:ops"}, asks: rules.Operator{User: "bob ", Groups: []string{"ops"}}, refused: true},
		"a name that breaks a line":                 {operators: []string{"group:ops"}, asks: rules.Operator{User: "bob\nsystem:admin", Groups: []string{"ops"}}, refused: true},
		"a name that is no text":                    {operators: []string{"group:ops"}, asks: rules.Operator{User: "bob\xff", Groups: []string{"ops"}}, refused: true},
		"a name that is too long":                   {operators: []string{"group:ops"}, asks: rules.Operator{User: strings.Repeat("b", 1025), Groups: []string{"ops"}}, refused: true},
		"nobody":                                    {operators: []string{"group:ops"}, asks: rules.Operator{Groups: []string{"ops"}}, refused: true},
		"all, where nobody is let in":               {operators: []string{"off"}, asks: rules.Operator{User: "alice", Groups: []string{"system:masters"}}, refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, err := rules.New(rules.Lists{Operators: tc.operators, Identity: tc.identity})
			g.Expect(err).NotTo(HaveOccurred())
			got := rules.Decide(rules.Input{Cluster: "edge-1", Rules: r, Operator: tc.asks, Request: makeRequest(t, "GET "+pods)})
			g.Expect(got.Allowed).To(Equal(!tc.refused))
			g.Expect(got.As).To(Equal(tc.want))
		})
	}
}

// TestNamesInBodiesAreJudgedToo uses requests without a name in the path.
func TestNamesInBodiesAreJudgedToo(t *testing.T) {
	t.Parallel()
	const bindings = "POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	for name, tc := range map[string]struct {
		request, name, prefix string
		want                  bool
	}{
		"a binding":                               {request: bindings, name: "web", want: true},
		"a binding of the agent's name":           {request: bindings, name: "fairlead-agent"},
		"a binding of its family":                 {request: bindings, name: "fairlead-connect-impersonate"},
		"a Secret of the agent's name":            {request: "POST /api/v1/namespaces/shop/secrets", name: "fairlead-agent-token"},
		"a name like it":                          {request: bindings, name: "fairlead-agents", want: true},
		"the agent's namespace":                   {request: "POST /api/v1/namespaces", name: "karmada-system"},
		"another namespace":                       {request: "POST /api/v1/namespaces", name: "web", want: true},
		"a pod of any name":                       {request: "POST " + pods, prefix: "web-", want: true},
		"any name behind the agent's":             {request: bindings, prefix: "fairlead-agent-"},
		"a name that may become the agent's":      {request: bindings, prefix: "fairlead-"},
		"a prefix that does not count":            {request: bindings, name: "web", prefix: "fairlead-agent-", want: true},
		"a name of the agent's beside any prefix": {request: bindings, name: "fairlead-agent", prefix: "web-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, err := rules.New(rules.Lists{Operators: []string{"user:alice"}, May: []string{"write", "secrets"}})
			g.Expect(err).NotTo(HaveOccurred())
			request := makeRequest(t, tc.request)
			g.Expect(request.NamedInBody()).To(BeTrue())
			request.BodyName, request.BodyPrefix = tc.name, tc.prefix
			g.Expect(rules.Decide(rules.Input{Rules: r, Operator: rules.Operator{User: "alice"}, Request: request}).Allowed).To(Equal(tc.want))
		})
	}
}

func TestRefusalsSayWhatTheOwnerAllows(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]rules.Decision{
		"edge-1: its owner lets operators get, list, watch, log in shop; not exec":           decide(t, rules.Lists{In: []string{"shop"}}, "GET+ "+web+"/exec"),
		"edge-1: its owner lets operators get, list, watch, log, exec; not write":            decide(t, rules.Lists{May: []string{"exec"}}, "DELETE "+web),
		"edge-1: its owner lets operators get, list, watch, log in shop; not what is in web": decide(t, rules.Lists{In: []string{"shop"}}, "GET /api/v1/namespaces/web/pods"),
		"edge-1: its owner lets in user:bob, and alice is not among them":                    decide(t, rules.Lists{Operators: []string{"user:bob"}}, "GET "+web),
	} {
		NewWithT(t).Expect(got.Reason).To(Equal(want))
	}
}
