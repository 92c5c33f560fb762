package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/access/rules"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/line/headers"
	"fairlead.dev/common/prose"
)

// Options configure a Handler.
type Options struct {
	// Cluster is the name of the member on the hub.
	Cluster string
	// Member reaches the member with the agent's own rights. Requests of operators never get them.
	Member *rest.Config
	// StateDir is where operators' actions are recorded; if it is empty, operators can only read.
	StateDir string
	// Clock is replaced in tests.
	Clock clock.WithTicker
	// Changed, if set, is called when the result of Summary has changed.
	Changed func()
}

// Handler serves the requests of operators. Their paths begin with contract.LineProxyPrefix.
type Handler struct {
	options  Options
	settings *settings
	tokens   *tokens
	proxy    *proxy
	streams  streams
	changes  *record
	reads    *record
	large    chan struct{} // a semaphore for large bodies
	used     atomic.Int64  // when the last request arrived, in nanoseconds
	summary  atomic.Pointer[string]
}

// New returns a Handler. The context only provides the logger; the Handler outlives it.
func New(ctx context.Context, o Options) (*Handler, error) {
	if o.Cluster == "" || o.Member == nil || o.Clock == nil {
		return nil, errors.New("letting operators in: the cluster's name, the member and the clock are required")
	}
	member, err := newMemberAPI(o.Member)
	if err != nil {
		return nil, err
	}
	h := &Handler{options: o, settings: &settings{read: member.settings, lastWord: member.lastWord, clock: o.Clock}, tokens: &tokens{issue: member.issueToken, clock: o.Clock}, large: make(chan struct{}, maxLarge)}
	if h.proxy, err = newProxy(ctx, o.Cluster, o.Member); err != nil {
		return nil, err
	}
	dir := ""
	if o.StateDir != "" {
		dir = filepath.Join(o.StateDir, recordDir)
	}
	h.changes, h.reads = &record{dir: dir, name: changesFile, limit: maxRecord}, &record{dir: dir, name: readsFile, limit: maxRecord}
	return h, nil
}

// maxSummary bounds Summary, in bytes.
const maxSummary = 200

// Summary describes the owner's rules in a few words, such as "off" or "read, exec in shop for group:ops".
func (h *Handler) Summary(ctx context.Context) string {
	now, err := h.settings.current(ctx, freshFor)
	if err != nil {
		return "unknown"
	}
	return h.remember(now)
}

func (h *Handler) remember(now rules.Rules) string {
	summary := prose.Cut(now.Summary(), maxSummary)
	h.summary.Store(&summary)
	return summary
}

// Start reads the owner's rules regularly and ends the requests that they no longer allow, until the context ends.
func (h *Handler) Start(ctx context.Context) error {
	ticker := h.options.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			h.streams.cutAll(context.Cause(ctx))
			return errors.Join(h.changes.stop(), h.reads.stop())
		case <-ticker.C():
			h.look(ctx)
		}
	}
}

// look reads the rules if that is due, and checks the running requests against them.
func (h *Handler) look(ctx context.Context) {
	age := lookSeldom
	if h.streams.any() || h.options.Clock.Now().Sub(time.Unix(0, h.used.Load())) < lookSeldom {
		age = 0
	}
	before := h.summary.Load()
	now, err := h.settings.current(ctx, age)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Operators are not let in", "reason", err.Error())
		h.streams.cutAll(errUnknown)
		return
	}
	h.streams.cut(h.options.Cluster, now)
	if summary := h.remember(now); h.options.Changed != nil && before != nil && *before != summary {
		h.options.Changed()
	}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.used.Store(h.options.Clock.Now().UnixNano())
	answer := &counted{ResponseWriter: w}
	l := entry{Phase: "ended", Request: r.Header.Get(contract.RequestHeader), AuditID: r.Header.Get(headers.AuditID), Groups: r.Header.Values(contract.GroupHeader)}
	one, of, code, reason := h.admit(r, &l)
	if reason != "" {
		if isDiscovery(r.URL.Path) {
			http.Error(answer, reason, code)
		} else {
			refuse(answer, code, reason)
		}
		l.Status, l.Reason = code, reason
		h.note(r.Context(), h.reads, l)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	one.cancel = cancel
	if limit := h.streams.add(one); limit != "" {
		w.Header().Set("Retry-After", "1")
		l.Status, l.Reason = http.StatusTooManyRequests, h.options.Cluster+": its agent serves no more than "+limit+"; try again"
		refuse(answer, l.Status, l.Reason)
		h.note(r.Context(), h.reads, l)
		return
	}
	defer h.streams.remove(one)
	in := h.reads
	if !readsOnly(one.request) {
		in = h.changes
		begun := l
		begun.Phase, begun.Time = "begun", h.options.Clock.Now()
		if err := in.write(begun, true); err != nil {
			ctrl.LoggerFrom(ctx).Info("Operators can only read, because their actions cannot be recorded", "reason", err.Error())
			refuse(answer, http.StatusServiceUnavailable, h.options.Cluster+": actions of operators cannot be recorded there, so they can only read; the agent's log says why")
			return
		}
	}
	start := h.options.Clock.Now()
	// The proxy panics if the answer breaks off.
	defer func() {
		l.Status, l.Sent, l.Received = answer.status, answer.sent.Load(), answer.received.Load()
		l.Seconds = strconv.FormatFloat(h.options.Clock.Since(start).Seconds(), 'f', 3, 64)
		if cause := context.Cause(ctx); errors.Is(cause, errTakenBack) || errors.Is(cause, errUnknown) {
			l.Reason = cause.Error()
		}
		h.note(ctx, in, l)
		if of.refused {
			h.tokens.forget(of.token)
		}
	}()
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = countedBody{ReadCloser: r.Body, sent: &answer.sent}
	}
	h.proxy.serve(answer, r.WithContext(ctx), of)
}

// admit decides whether a request goes through. If it does not, it returns a status and the reason.
func (h *Handler) admit(r *http.Request, l *entry) (one *stream, of *passing, code int, reason string) {
	users := r.Header.Values(contract.UserHeader)
	if len(users) != 1 || users[0] == "" {
		return nil, nil, http.StatusForbidden, h.options.Cluster + ": the request does not name the user, and the agent does nothing for others in its own name"
	}
	operator := rules.Operator{User: users[0], Groups: r.Header.Values(contract.GroupHeader)}
	l.User = operator.User
	escaped, ok := strings.CutPrefix(r.URL.EscapedPath(), contract.LineProxyPrefix)
	if !ok {
		return nil, nil, http.StatusNotFound, "the path of the request does not begin with " + contract.LineProxyPrefix
	}
	l.Verb, l.Object = r.Method, escaped
	upgrade, known := upgrades(r.Header)
	request, err := rules.Parse(r.Method, escaped, r.URL.RawQuery, upgrade)
	switch {
	case err != nil:
		return nil, nil, http.StatusBadRequest, h.options.Cluster + ": " + err.Error()
	case upgrade && !known:
		return nil, nil, http.StatusBadRequest, h.options.Cluster + ": the request would change to a protocol that the API does not speak; it speaks websocket and SPDY/3.1"
	}
	l.Verb, l.Object, l.Upgrade = request.Verb, request.String(), request.Upgrade
	if request.Subresource == "exec" || request.Subresource == "attach" || request.Subresource == "portforward" {
		l.Query = r.URL.RawQuery
	}
	now, err := h.settings.current(r.Context(), lookEvery+freshFor)
	if err != nil {
		code, reason = h.unasked(r.Context(), err, "the agent cannot read what its owner allows; the owner can check that with `agent operators`")
		return nil, nil, code, reason
	}
	d := rules.Decide(rules.Input{Cluster: h.options.Cluster, Rules: now, Operator: operator, Request: request})
	if d.Allowed && request.NamedInBody() {
		if code, reason = h.readNames(r, &request); reason != "" {
			return nil, nil, code, reason
		}
		l.Object = request.String()
		d = rules.Decide(rules.Input{Cluster: h.options.Cluster, Rules: now, Operator: operator, Request: request})
	}
	if !d.Allowed {
		return nil, nil, http.StatusForbidden, d.Reason
	}
	l.As = d.As.User
	token, err := h.tokens.get(r.Context())
	if err != nil {
		code, reason = h.unasked(r.Context(), err, "the agent gets no token of the ServiceAccount fairlead-connect; the owner must run `agent operators` again")
		return nil, nil, code, reason
	}
	return &stream{operator: operator, as: d.As, request: request}, &passing{request: request, as: d.As, token: token, path: escaped}, 0, ""
}

// unasked returns the answer for an operator when the agent's own question to the member failed.
func (h *Handler) unasked(ctx context.Context, err error, otherwise string) (code int, reason string) {
	ctrl.LoggerFrom(ctx).V(1).Info("Refusing an operator", "reason", err.Error())
	if _, isURL := errors.AsType[*url.Error](err); isURL {
		return http.StatusGatewayTimeout, "the API of " + h.options.Cluster + " did not answer its agent"
	}
	return http.StatusServiceUnavailable, h.options.Cluster + ": " + otherwise
}

// readsOnly returns whether a request may go ahead although it cannot be recorded: it changes nothing, runs nothing,
// and reveals nothing that needs a separate permission.
func readsOnly(r rules.Request) bool {
	return r.IsSelfReview() || r.Reads() && !slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, r.Subresource) && r.Resource != "secrets"
}

// note records an entry as well as possible.
func (h *Handler) note(ctx context.Context, in *record, l entry) {
	l.Time = h.options.Clock.Now()
	if err := in.write(l, false); err != nil && !errors.Is(err, errNoRecord) {
		ctrl.LoggerFrom(ctx).V(1).Info("Could not record an action of an operator", "reason", err.Error())
	}
}

// upgrades returns whether a request asks for another protocol, and whether that is one that the API uses.
func upgrades(h http.Header) (asked, known bool) {
	protocol := h.Get("Upgrade")
	for _, list := range h.Values("Connection") {
		for token := range strings.SplitSeq(list, ",") {
			asked = asked || strings.EqualFold(strings.TrimSpace(token), "upgrade")
		}
	}
	return asked || protocol != "", asked && (strings.EqualFold(protocol, "websocket") || strings.EqualFold(protocol, "SPDY/3.1"))
}

// isDiscovery returns whether a request is kubectl's first. kubectl shows the reason of a refusal there only if it is
// plain text.
func isDiscovery(path string) bool {
	return path == contract.LineProxyPrefix+"/api" || path == contract.LineProxyPrefix+"/apis"
}

// refuse answers with a Status, as an API server does.
func refuse(w http.ResponseWriter, code int, sentence string) {
	reason := map[int]metav1.StatusReason{
		http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
		http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
		http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
		http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusBadGateway: metav1.StatusReasonInternalError,
	}[code]
	raw, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: sentence, Reason: reason, Code: int32(code),
	})
	if err != nil {
		raw = []byte(fmt.Sprintf("%q", sentence))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(raw) //nolint:gosec // JSON of ours, not to be taken for a page; whoever asked may be gone
}
