package execution_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// lostHub is the transport to a hub that is lost when the agent releases a Work, and restored from a backup: from
// then on, watches from an earlier resourceVersion are answered with 410 Gone. In between, writes fail and reads
// block.
type lostHub struct {
	next http.RoundTripper
	// lost is closed when the hub is, back when it is restored.
	lost, back chan struct{}

	mu sync.Mutex
	// watches end with the hub.
	watches []io.Closer
	// expired are the watches that were sent back to a list since.
	expired map[string]bool
}

func newLostHub() *lostHub {
	return &lostHub{lost: make(chan struct{}), back: make(chan struct{}), expired: map[string]bool{}}
}

func (h *lostHub) RoundTrip(req *http.Request) (*http.Response, error) {
	watching := req.URL.Query().Get("watch") != ""
	if req.Method == http.MethodPatch {
		h.lose()
	}
	switch {
	case !closed(h.lost):
	case req.Method != http.MethodGet && !closed(h.back):
		return nil, errors.New("nobody answers")
	default:
		select {
		case <-h.back:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		if watching && h.expires(req.URL.Path) {
			return tooOld(req)
		}
	}
	response, err := h.next.RoundTrip(req)
	if err == nil && watching {
		h.mu.Lock()
		h.watches = append(h.watches, response.Body)
		h.mu.Unlock()
	}
	return response, err
}

// lose loses the hub, once.
func (h *lostHub) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if closed(h.lost) {
		return
	}
	close(h.lost)
	for _, watch := range h.watches {
		_ = watch.Close()
	}
}

// expires returns true once for each watch: it cannot be resumed.
func (h *lostHub) expires(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := !h.expired[path]
	h.expired[path] = true
	return first
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func tooOld(req *http.Request) (*http.Response, error) {
	status := apierrors.NewResourceExpired("too old resource version").Status()
	status.APIVersion, status.Kind = "v1", "Status"
	body, err := json.Marshal(status)
	return &http.Response{
		StatusCode: http.StatusGone, Request: req, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, err
}

// TestAWorkThatWasEndingIsAppliedByARestoredHub loses the hub between the deletion of an object and the end of its
// Work. The restored hub has a Work of that name that is not being deleted: the agent, which never saw the old one
// go, must recreate the object.
func TestAWorkThatWasEndingIsAppliedByARestoredHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	hub := newLostHub()
	w := unstarted(t)
	config := rest.CopyConfig(c.Config)
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { hub.next = next; return hub }
	w.startBetween(t, config, c.Config, native.New())
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	before := w.get(g, "settings")

	w.end(t, work, contract.DeletionRemoved)
	g.Eventually(hub.lost).WithTimeout(waitTimeout).Should(BeClosed(), "the object is gone, and nobody hears of it")
	g.Expect(apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(before), before))).To(BeTrue())
	ending := &workv1alpha1.Work{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), ending)).To(Succeed())
	w.change(t, ending, func(work *workv1alpha1.Work) { work.Finalizers = nil })
	w.isGone(t, work)
	again := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	close(hub.back)

	g.Eventually(func(g Gomega) {
		g.Expect(w.get(g, "settings").UID).NotTo(Equal(before.UID))
	}).WithTimeout(waitTimeout).Should(Succeed(), "the object is made again")
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(again), again)).To(Succeed())
	g.Expect(again.Finalizers).To(ConsistOf(contract.ExecutionFinalizer), "what was meant for the old Work does not touch this one")
	g.Expect(again.DeletionTimestamp).To(BeNil())
}
