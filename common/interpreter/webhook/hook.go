package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/roots"
)

const (
	// defaultTimeout is the timeout if the webhook does not set one.
	defaultTimeout = 10 * time.Second
	// maxAnswer bounds the size of an answer, like the API server's limit for requests.
	maxAnswer = 3 << 20
	// idleConnections is how many connections are kept: as many as Works are reported concurrently.
	idleConnections = 8
	// maxHeader bounds the header of an answer.
	maxHeader = 64 << 10
	// pingAfter is the silence on a connection after which the server is pinged, and pingTimeout the timeout of that.
	pingAfter   = 5 * time.Second
	pingTimeout = 3 * time.Second
	// idleTimeout is how long an idle connection is kept.
	idleTimeout = 30 * time.Second
)

// version is the version of ResourceInterpreterContext that is sent.
const version = "v1alpha1"

// hook is one webhook.
type hook struct {
	name    string
	rules   []configv1alpha1.RuleWithOperations
	url     *url.URL
	timeout time.Duration
	http    *http.Client
	pauses  *pauses
	// problem is why the webhook cannot be asked; nil if it can.
	problem error
}

func newHook(name string, w configv1alpha1.ResourceInterpreterWebhook, services client.Reader) *hook {
	h := &hook{name: name, rules: w.Rules, timeout: defaultTimeout, pauses: newPauses(clock.RealClock{})}
	if w.TimeoutSeconds != nil {
		h.timeout = time.Duration(*w.TimeoutSeconds) * time.Second
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   idleTimeout,
		// For servers without HTTP/2: further connections would be closed and reopened all the time.
		MaxIdleConnsPerHost: idleConnections,
		// Without pings, a connection to a server that disappeared would be used until TCP gives it up, which takes a
		// quarter of an hour.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxResponseHeaderBytes: maxHeader,
	}
	h.problem = h.address(w, transport, services)
	if ca := w.ClientConfig.CABundle; len(ca) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(ca) {
			h.problem = errors.Join(h.problem, errors.New("clientConfig.caBundle has no certificate in PEM"))
		}
		transport.TLSClientConfig.RootCAs = pool
	} else {
		roots.Fallback()
	}
	if !slices.Contains(w.InterpreterContextVersions, version) {
		h.problem = errors.Join(h.problem, fmt.Errorf("interpreterContextVersions lacks %s, the only version that is sent", version))
	}
	h.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h
}

// address determines the webhook's address.
func (h *hook) address(w configv1alpha1.ResourceInterpreterWebhook, transport *http.Transport, services client.Reader) error {
	switch config := w.ClientConfig; {
	case config.URL != nil && config.Service != nil, config.URL == nil && config.Service == nil:
		return errors.New("clientConfig must have either a url or a service")
	case config.URL != nil:
		u, err := url.Parse(*config.URL)
		switch {
		case err != nil:
			return errors.New("clientConfig.url is no https URL") // do not show the URL, which may contain a secret
		case u.Scheme != "https" || u.Host == "":
			return fmt.Errorf("clientConfig.url %q is no https URL", u.Scheme+"://"+u.Host)
		}
		transport.Proxy = http.ProxyFromEnvironment
		h.url = u
		return nil
	default:
		s := newService(*config.Service, services)
		transport.DialContext = s.dial
		h.url = s.url()
		return nil
	}
}

func (h *hook) close() { h.http.CloseIdleConnections() }

// question is a request to a webhook.
type question struct {
	op               interpreter.Operation
	object, observed *unstructured.Unstructured
	replicas         int32
	items            []workv1alpha2.AggregatedStatusItem
}

// ask asks the webhook for an operation. Its errors name webhook, operation and object.
func (i *Interpreter) ask(ctx context.Context, q question) (answer, error) {
	h := i.hook(q.object.GroupVersionKind(), q.op)
	if h == nil {
		return answer{}, interpreter.NoRule(q.object, q.op)
	}
	a, err := h.ask(ctx, q)
	if err != nil {
		return answer{}, fmt.Errorf("asking webhook %q for %s of %s %q: %w",
			h.name, q.op, q.object.GetKind(), client.ObjectKeyFromObject(q.object), err)
	}
	return a, nil
}

func (h *hook) ask(ctx context.Context, q question) (answer, error) {
	if h.problem != nil {
		return answer{}, fmt.Errorf("the webhook is not configured correctly: %w", h.problem)
	}
	request, object, err := q.encode()
	if err != nil {
		return answer{}, err
	}
	body, err := json.Marshal(&configv1alpha1.ResourceInterpreterContext{
		TypeMeta: metav1.TypeMeta{APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindResourceInterpreterContext},
		Request:  request,
	})
	if err != nil {
		return answer{}, fmt.Errorf("encoding the question: %w", err)
	}
	reply, err := h.pauses.ask(ctx, func() ([]byte, bool, error) { return h.post(ctx, body) })
	if err != nil {
		return answer{}, err
	}
	a, err := decode(reply, request.UID, q.op, object)
	if err != nil {
		return answer{}, err
	}
	return a, nil
}

// encode returns the request, and the encoded object in it.
func (q question) encode() (*configv1alpha1.ResourceInterpreterRequest, []byte, error) {
	object, err := json.Marshal(q.object.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the object: %w", err)
	}
	kind := q.object.GroupVersionKind()
	request := &configv1alpha1.ResourceInterpreterRequest{
		UID:              uuid.NewUUID(),
		Kind:             metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Name:             q.object.GetName(),
		Namespace:        q.object.GetNamespace(),
		Operation:        configv1alpha1.InterpreterOperation(q.op),
		Object:           runtime.RawExtension{Raw: object},
		DesiredReplicas:  &q.replicas,
		AggregatedStatus: q.items,
	}
	if q.observed != nil {
		observed, err := json.Marshal(q.observed.Object)
		if err != nil {
			return nil, nil, fmt.Errorf("encoding the live object: %w", err)
		}
		request.ObservedObject = &runtime.RawExtension{Raw: observed}
	}
	return request, object, nil
}
