package webhook_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestAConnectionServesManyQuestions(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/2": true, "HTTP/1.1": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			calls := 0
			s := serveOver(t, http2, func(w http.ResponseWriter, uid string) {
				if calls++; calls == 2 { // an unexpected response must not cost the connection
					http.Error(w, "out of grain", http.StatusInternalServerError)
					return
				}
				saying(`,"healthy":true`)(w, uid)
			})
			kinds := asking(s.hook(), nil)
			for i := range 5 {
				_, err := kinds.Health(t.Context(), mill())
				g.Expect(err != nil).To(Equal(i == 1))
			}
			g.Expect(s.connections()).To(Equal(1))
			kinds.Close()
			g.Expect(kinds.Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy), "also after the configuration changed")
		})
	}
}

func TestNoErrorTellsASecret(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const password = "open-sesame"
	s := serve(t, func(w http.ResponseWriter, _ string) {
		http.Error(w, "what to make of "+password+"?", http.StatusInternalServerError)
	})
	hook := s.hook()
	hook.Rules[0].APIGroups, hook.Rules[0].Kinds = []string{"*"}, []string{"*"}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key", "namespace": "farm"}, "data": map[string]any{"password": password},
	}}
	_, err := asking(hook, nil).Retain(t.Context(), secret, secret)
	g.Expect(err).To(MatchError(And(ContainSubstring("it answered 500"), Not(ContainSubstring(password)))))

	s.Close()
	for _, url := range []string{s.URL + "/ask?token=" + password, "https://me:" + password + "@" + s.Listener.Addr().String(), "http://me:" + password + "@mills", "https://a b/?" + password} {
		hook.ClientConfig.URL = new(url)
		_, err = asking(hook, nil).Health(t.Context(), mill())
		g.Expect(err).To(MatchError(Not(ContainSubstring(password))))
	}
}

func TestAURLKeepsItsQuery(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := serve(t, saying(`,"healthy":true`))
	hook := s.hook()
	hook.ClientConfig.URL = new(s.URL + "/ask?key=a%26b")
	g.Expect(asking(hook, nil).Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy))
	g.Expect(s.query).To(Equal("key=a%26b&timeout=10s"))
}

func TestAWebhookThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(http.ResponseWriter, string) {
		close(asked)
		<-release
	})
	t.Cleanup(func() { close(release) })
	hook := s.hook()
	hook.TimeoutSeconds = new(int32(3)) // a busy machine must read the request within it
	health, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("no answer within 3s; check that it runs, or set a longer timeoutSeconds")))
	g.Expect(health).To(Equal(workv1alpha1.Unknown))
	g.Eventually(asked).WithTimeout(time.Minute).Should(BeClosed())
	g.Expect(s.query).To(Equal("timeout=3s"))
}

func TestABodyThatNeverEndsIsGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ string) {
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	t.Cleanup(func() { close(release) })
	hook := s.hook()
	hook.TimeoutSeconds = new(int32(1))
	_, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("no answer within 1s")))
}

func TestACertificateOfAnotherAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hook := serve(t, saying(`,"healthy":true`)).hook()
	hook.ClientConfig.CABundle = nil
	_, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("certificate")))
}
