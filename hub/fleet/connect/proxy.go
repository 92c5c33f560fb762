package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line/headers"
	"fairlead.dev/common/logging"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/route"
)

// How long the response of a member may take to start after the whole request was sent. Reads are answered at once;
// writes may wait for admission webhooks, for as long as an API server allows them.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 60 * time.Second
	// logTimeout is the same for logs: a followed log starts with its first line. Agents notice by themselves if the
	// API is gone.
	logTimeout = 24 * time.Hour
)

// tooMany is the Retry-After for a user with too many open requests.
const tooMany = time.Second

// hop is the value of contract.HopHeader on a request that another replica has forwarded.
const hop = "1"

// proxyRequest is one request on its way to a member.
type proxyRequest struct {
	target  route.Target
	caller  headers.Caller
	upgrade string
	// forwarded says that another replica has forwarded the request.
	forwarded bool
	// through is the line, or the transport to the replica that holds it.
	through http.RoundTripper
	// line is the line, if this replica holds it.
	line *lines.Line
	// incoming is the body of the request.
	incoming *requestBody
	// cut ends the request with a cause.
	cut context.CancelCauseFunc
	// noLine is the agent's own explanation of why it has no line; empty if it gave none.
	noLine string
}

// proxy sends a request of an operator to the API of a member. The API server has already authorized it.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, target route.Target, who caller) {
	p := proxyRequest{target: target, caller: headers.Caller{User: who.name, Groups: who.groups, Request: newName()}, upgrade: headers.Upgrade(r.Header)}
	cluster, err := s.cluster(r.Context(), target.Cluster)
	switch {
	case client.IgnoreNotFound(err) != nil:
		s.refuse(w, r, refusal{reason: metav1.StatusReasonServiceUnavailable, cluster: target.Cluster, message: fmt.Sprintf("reading the cluster %s: %v", target.Cluster, err), retry: tooMany})
		return
	case err != nil || cluster.UID == "":
		s.refuse(w, r, refusal{reason: metav1.StatusReasonNotFound, cluster: target.Cluster, message: fmt.Sprintf("there is no cluster %s", target.Cluster)})
		return
	}
	verbs := []string{verbOf(r.Method)}
	if p.upgrade != "" && verbs[0] != "create" {
		// The right to read does not include running commands, which clients also start with a GET.
		verbs = append(verbs, "create")
		may, err := s.Review(r.Context(), who.may("create", contract.ConnectClustersResource, contract.ProxySubresource, target.Cluster))
		if err != nil {
			s.refuse(w, r, refusal{reason: metav1.StatusReasonServiceUnavailable, cluster: target.Cluster, message: fmt.Sprintf("asking whether %s may create clusters/proxy of %s: %v", who.name, target.Cluster, err), retry: tooMany})
			return
		}
		if !may {
			s.refuse(w, r, refusal{reason: metav1.StatusReasonForbidden, cluster: target.Cluster, message: notAllowed(who.name, "create", target.Cluster)})
			return
		}
	}
	if report := cluster.Status.Agent; report != nil {
		p.noLine = prose.OneLine(report.NoLine)
	}
	ctx, cut := context.WithCancelCause(r.Context())
	defer cut(nil)
	defer s.open.add(&openRequest{who: who, cluster: target.Cluster, verbs: verbs, began: s.Clock.Now(), cut: cut})()
	p.cut = cut
	s.pass(w, r.WithContext(ctx), p)
}

// ServePeer answers a request from another replica, which has authenticated as such: the headers of package contract name the operator. The
// request goes into a line of this replica, or fails. Requests about sessions are answered here.
func (s *Server) ServePeer(w http.ResponseWriter, r *http.Request) {
	target, err := route.Split(r.URL.EscapedPath())
	if err == nil && target.Kind == route.Attach {
		s.serveSession(w, r, target.Cluster)
		return
	}
	if err != nil || target.Kind != route.Proxy {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonNotFound, message: "replicas of a hub forward requests to members, and nothing else but sessions of agents"})
		return
	}
	p := proxyRequest{target: target, upgrade: headers.Upgrade(r.Header), forwarded: true, caller: headers.Caller{
		User: r.Header.Get(contract.UserHeader), Groups: r.Header.Values(contract.GroupHeader), Request: r.Header.Get(contract.RequestHeader),
	}}
	if p.caller.User == "" || p.caller.Request == "" {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonForbidden, message: "the other replica of the hub did not name the user", cluster: target.Cluster})
		return
	}
	if r.Header.Get(contract.HopHeader) != hop {
		s.refuse(w, r, refusal{reason: reasonLoop, message: "a request is forwarded only once", cluster: target.Cluster})
		return
	}
	ctx, cut := context.WithCancelCause(r.Context())
	defer cut(nil)
	p.cut = cut
	s.pass(w, r.WithContext(ctx), p)
}

// pass sends a request through the line of its cluster, at this or another replica.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, p proxyRequest) {
	if no := s.findLine(&p); no != nil {
		s.refuse(w, r, *no)
		return
	}
	release, exceeded := s.acquire(r, p)
	if exceeded != nil {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonTooManyRequests, message: exceeded.Message, cluster: p.target.Cluster, retry: tooMany})
		return
	}
	defer release()
	p.incoming = &requestBody{control: http.NewResponseController(w)}
	defer p.incoming.end()
	log := s.Log.V(1)
	if p.upgrade != "" {
		log = s.Log
	}
	log.Info("Sending a request to a member", "Cluster", p.target.Cluster, "user", p.caller.User, "method", r.Method, "path", p.target.Rest,
		"request", p.caller.Request, "auditID", r.Header.Get("Audit-Id"), "upgrade", p.upgrade)
	w.Header().Set(contract.RequestHeader, p.caller.Request)
	proxy := httputil.ReverseProxy{
		Rewrite:        func(pr *httputil.ProxyRequest) { rewrite(pr, p) },
		Transport:      &requestTransport{server: s, passage: p},
		FlushInterval:  -1,
		ModifyResponse: func(resp *http.Response) error { return s.checkAnswer(resp, p) },
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { s.failed(w, r, p, err) },
		ErrorLog:       logging.Standard(s.Log.V(1)),
	}
	proxy.ServeHTTP(w, r)
}

// findLine finds the line of a cluster, or the replica that has it.
func (s *Server) findLine(p *proxyRequest) *refusal {
	cluster := p.target.Cluster
	all := s.Lines.Lines(cluster)
	for _, a := range slices.Backward(all) {
		if !isLeaving(a.Client) {
			p.line, p.through = a, a.Client
			return nil
		}
	}
	if s.Peers != nil {
		replica, ok := s.Peers.Holder(cluster)
		if ok && p.forwarded {
			return &refusal{reason: reasonLoop, cluster: cluster, message: fmt.Sprintf("the line of %s is at replica %s by now: try again", cluster, replica)}
		}
		if ok {
			if p.through = s.Peers.Transport(replica); p.through != nil {
				return nil
			}
		}
	}
	return &refusal{reason: metav1.StatusReasonServiceUnavailable, cluster: cluster, message: s.notConnected(*p), retry: tooMany}
}

// isLeaving says whether a line accepts no more requests.
func isLeaving(c lines.Client) bool {
	if l, ok := c.(interface{ Leaving() <-chan struct{} }); ok {
		select {
		case <-l.Leaving():
			return true
		default:
		}
	}
	return false
}

// notConnected explains why nothing can be sent to a cluster. The agent's own explanation comes first; the agent
// withdraws it soon after it has a line again.
func (s *Server) notConnected(p proxyRequest) string {
	cluster := p.target.Cluster
	state, known := s.Lines.State(cluster)
	switch {
	case p.noLine != "" && (!known || !state.Lost.IsZero()):
		return fmt.Sprintf("%s is not connected: %s", cluster, p.noLine)
	case !known:
		return fmt.Sprintf("%s is not connected: its agent has opened no line since this hub started; check the agent there, older versions open none", cluster)
	case state.Lost.IsZero():
		return fmt.Sprintf("%s is not connected: its agent is opening a new line", cluster)
	case state.Goodbye:
		return fmt.Sprintf("%s is not connected: its agent was stopped %s ago", cluster, duration.HumanDuration(max(0, s.Clock.Now().Sub(state.Lost))))
	default:
		return fmt.Sprintf("%s is not connected: line lost %s ago", cluster, duration.HumanDuration(max(0, s.Clock.Now().Sub(state.Lost))))
	}
}

// rewrite turns an operator's request into the one for the line, or for the replica that holds the line.
func rewrite(pr *httputil.ProxyRequest, p proxyRequest) {
	prefix := contract.LineProxyPrefix
	if p.line == nil {
		prefix = contract.ClusterProxyPath(p.target.Cluster)
	}
	raw := prefix + p.target.Rest
	plain, err := url.PathUnescape(raw)
	if err != nil { // cannot happen: route.Split unescaped it before
		plain = raw
	}
	pr.Out.URL = &url.URL{Scheme: "http", Host: "line", Path: plain, RawPath: raw, RawQuery: pr.Out.URL.RawQuery}
	pr.Out.Host = ""
	pr.Out.Trailer = nil
	headers.ToAgent(pr.Out.Header, p.caller, p.upgrade)
	if p.line == nil {
		pr.Out.Header.Set(contract.HopHeader, hop)
	}
}

// staysOpen says whether the response to a request goes on until somebody ends it.
func staysOpen(r *http.Request) bool {
	query := r.URL.Query()
	is := func(name string) bool {
		value := query.Get(name)
		return query.Has(name) && value != "false" && value != "0"
	}
	return is("watch") || is("follow")
}

// verbOf returns the verb on the resource clusters/proxy that a request with this method needs.
func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	case http.MethodGet, http.MethodHead:
		return "get"
	default:
		return strings.ToLower(method)
	}
}

func notAllowed(user, verb, cluster string) string {
	return fmt.Sprintf("%s may not %s clusters/proxy of %s", user, verb, cluster)
}
