package rules_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/access/rules"
)

func TestRulesAreSummedUp(t *testing.T) {
	t.Parallel()
	for want, lists := range map[string]rules.Lists{
		"off":                     {Operators: []string{"off"}},
		"read for group:ops":      {Operators: []string{"group:ops"}},
		"read for user:alice@x.y": {Operators: []string{"user:alice@x.y"}, Identity: "same"},
		"read, exec, write in shop, web for group:Domain Admins, user:alice": {
			Operators: []string{"user:alice", "group:Domain Admins", "user:alice"}, May: []string{"write", "exec", "exec"}, In: []string{"web", "shop"},
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, err := rules.New(lists)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Summary()).To(Equal(want))
			again, err := rules.New(r.Lists())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(r))
		})
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	t.Parallel()
	ops := []string{"group:ops"}
	for name, tc := range map[string]struct {
		lists rules.Lists
		want  string
	}{
		"neither a user nor a group":       {lists: rules.Lists{Operators: []string{"alice"}}, want: "user:NAME or group:NAME"},
		"nobody":                           {lists: rules.Lists{Operators: []string{"user:"}}, want: "user:NAME or group:NAME"},
		"off and somebody":                 {lists: rules.Lists{Operators: []string{"off", "user:a"}}, want: "stands alone"},
		"a name that breaks a line":        {lists: rules.Lists{Operators: []string{"user:a\nb"}}, want: "user:NAME"},
		"a name that breaks out of quotes": {lists: rules.Lists{Operators: []string{`user:a"b`}}, want: "user:NAME"},
		"system:masters":                   {lists: rules.Lists{Operators: []string{"group:system:masters"}}, want: "whatever RBAC says"},
		"a node":                           {lists: rules.Lists{Operators: []string{"user:system:node:a"}}, want: "node"},
		"an unknown permission":            {lists: rules.Lists{Operators: ops, May: []string{"all"}}, want: `"all"`},
		"no namespace":                     {lists: rules.Lists{Operators: ops, In: []string{"*"}}, want: "namespace"},
		"all API groups":                   {lists: rules.Lists{Operators: ops, APIGroups: []string{"*"}}, want: "API group"},
		"another identity":                 {lists: rules.Lists{Operators: ops, Identity: "root"}, want: "prefixed or same"},
		"something for nobody":             {lists: rules.Lists{May: []string{"exec"}}, want: "no operators are named"},
		"nodes within namespaces":          {lists: rules.Lists{Operators: ops, May: []string{"nodes/proxy"}, In: []string{"shop"}}, want: "all namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rules.New(tc.lists)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func TestRulesAreKeptAsText(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, err := rules.Of(map[string]string{"operators": "group:ops,user:alice", "may": "exec", "in": "shop", "identity": "same", "apiGroups": "cert-manager.io"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r).To(Equal(rules.Rules{
		Users: []string{"alice"}, Groups: []string{"ops"}, May: []rules.Permission{rules.Exec}, Namespaces: []string{"shop"},
		Identity: rules.Same, APIGroups: []string{"cert-manager.io"},
	}))
	r, err = rules.Of(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.IsOff()).To(BeTrue())
}
