package execution_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// hangingReads answers reads of some objects as an API server does that does not reach their conversion webhook, and later not at all.
type hangingReads struct {
	path string

	mu      sync.Mutex
	asked   int
	waiting int
	hangs   bool
}

// hangingTransport is one of its clients.
type hangingTransport struct {
	*hangingReads

	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h hangingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, h.path) {
		return h.next.RoundTrip(r)
	}
	h.mu.Lock()
	h.asked++
	hangs := h.hangs
	if hangs {
		h.waiting++
	}
	h.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		h.mu.Lock()
		h.waiting--
		h.mu.Unlock()
		return nil, r.Context().Err()
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,` +
		`"message":"Internal error occurred: conversion webhook for /v1, Kind=ConfigMap failed: context deadline exceeded"}`
	return &http.Response{
		StatusCode: http.StatusInternalServerError, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func (h *hangingReads) counts() (asked, waiting int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, h.waiting
}

// TestReadsThatHangDelayOnlyWhatIsRead checks that hanging reads, like hanging writes, hold only a few workers.
func TestReadsThatHangDelayOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	shared := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	h := &hangingReads{path: "/namespaces/" + w.member + "/configmaps/"}
	member := rest.CopyConfig(shared.Config)
	member.Wrap(func(next http.RoundTripper) http.RoundTripper { return hangingTransport{hangingReads: h, next: next} })
	for i := range 24 {
		name := fmt.Sprintf("settings-%d", i)
		g.Expect(w.client.Create(t.Context(), w.configMap(name, nil))).To(Succeed(), "it is read before it is judged")
		w.work(t, name, w.configMap(name, nil))
	}
	w.startBetween(t, shared.Config, member, native.New())
	g.Eventually(func() int { asked, _ := h.counts(); return asked }).WithTimeout(waitTimeout).Should(BeNumerically(">=", 8))

	h.mu.Lock()
	h.hangs = true
	h.mu.Unlock()
	waiting := func() int { _, waiting := h.counts(); return waiting }
	g.Eventually(waiting).WithTimeout(waitTimeout).Should(Equal(2))
	g.Consistently(waiting).WithTimeout(4*time.Second).Should(Equal(2), "no more workers wait for them")
	other := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: shared.Namespace(t), Name: "other"}}
	w.isApplied(t, w.work(t, "other", other))
}
