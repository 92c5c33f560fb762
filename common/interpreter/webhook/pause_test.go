package webhook

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testingclock "k8s.io/utils/clock/testing"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// TestAWebhookThatHangsIsAskedSeldom checks that only a few of many requests wait for a webhook that does not answer,
// and that all are made again once it does.
func TestAWebhookThatHangsIsAskedSeldom(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var asked atomic.Int32
	var hangs atomic.Bool
	release := make(chan struct{})
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if hangs.Load() {
			<-release
		}
		_, _ = fmt.Fprint(w, "{}")
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	h := newHook("farm/mills", configv1alpha1.ResourceInterpreterWebhook{
		ClientConfig: configv1alpha1.WebhookClientConfig{
			URL: new(s.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		},
		InterpreterContextVersions: []string{version},
	}, nil)
	t.Cleanup(h.close)
	h.timeout = 3 * time.Second // a busy machine must read every request within it
	c := testingclock.NewFakePassiveClock(time.Now())
	h.pauses = newPauses(c)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "farm.example.com/v1", "kind": "Mill", "metadata": map[string]any{"name": "old"}}}
	ask := func() error {
		_, err := h.ask(t.Context(), question{op: interpreter.ReviseReplica, object: object})
		return err
	}

	hangs.Store(true)
	first := ask()
	g.Expect(interpreter.IsUnanswered(first)).To(BeTrue())
	for range 50 {
		err := ask()
		g.Expect(interpreter.IsUnanswered(err)).To(BeTrue())
		g.Expect(err).To(MatchError(first.Error()), "what is told of it does not change")
	}
	g.Expect(asked.Load()).To(BeEquivalentTo(1))

	c.SetTime(c.Now().Add(firstPause))
	for range 50 {
		g.Expect(interpreter.IsUnanswered(ask())).To(BeTrue())
	}
	g.Expect(asked.Load()).To(BeEquivalentTo(2))
	c.SetTime(c.Now().Add(firstPause))
	g.Expect(ask()).NotTo(Succeed())
	g.Expect(asked.Load()).To(BeEquivalentTo(2), "the second pause is longer")

	hangs.Store(false)
	c.SetTime(c.Now().Add(firstPause))
	for range 10 {
		g.Expect(interpreter.IsUnanswered(ask())).To(BeFalse())
	}
	g.Expect(asked.Load()).To(BeEquivalentTo(12))
}

// TestOneQuestionAtATimeFollowsAPause checks that only one request is made after a pause and others fail at once
// while it is in flight, and that requests that time out together start one pause.
func TestOneQuestionAtATimeFollowsAPause(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testingclock.NewFakePassiveClock(time.Now())
	p := newPauses(c)
	why := interpreter.Unanswered(http.ErrHandlerTimeout)
	for range mostQuestions {
		p.end(false, true, why, false)
	}
	_, err := p.begin()
	g.Expect(err).To(Equal(why))
	c.SetTime(c.Now().Add(firstPause))
	g.Expect(p.begin()).To(BeTrue())
	_, err = p.begin()
	g.Expect(err).To(Equal(why))

	p.end(true, false, nil, true) // the caller's context has ended
	g.Expect(p.begin()).To(BeTrue())
	p.end(true, false, nil, false)
	g.Expect(p.begin()).To(BeFalse())
}
