package registration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/cluster-bootstrap/token/jws"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/bootstrap"
)

const (
	tokenID     = "abc123"
	tokenSecret = "0123456789abcdef"
)

// info returns a cluster-info that is signed for the token.
func info(t *testing.T, ca []byte, remark string) map[string]string {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{
		"remark":   remark,
		"clusters": []any{map[string]any{"name": "", "cluster": map[string]any{"certificate-authority-data": ca}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := jws.ComputeDetachedSignature(string(raw), tokenID, tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"kubeconfig": string(raw), "jws-kubeconfig-" + tokenID: signature}
}

func authorityOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestDiscoverTellsApartWhatAnswers(t *testing.T) {
	t.Parallel()
	another := httptest.NewUnstartedServer(nil)
	another.StartTLS() // all httptest servers share one certificate
	t.Cleanup(another.Close)

	answer := func(status int, body string) func(*testing.T, *httptest.Server) http.HandlerFunc {
		return func(*testing.T, *httptest.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}
		}
	}
	tests := map[string]struct {
		handler func(*testing.T, *httptest.Server) http.HandlerFunc
		plain   bool
		host    string
		want    error
	}{
		"a hub": {
			handler: func(t *testing.T, s *httptest.Server) http.HandlerFunc {
				t.Helper()
				return serve(t, func(int32) map[string]string { return info(t, authorityOf(s), "") })
			},
		},
		"a hub that is busy at first": {
			handler: func(t *testing.T, s *httptest.Server) http.HandlerFunc {
				t.Helper()
				good := serve(t, func(int32) map[string]string { return info(t, authorityOf(s), "") })
				var asked atomic.Int32
				return func(w http.ResponseWriter, r *http.Request) {
					if asked.Add(1) < 3 {
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					good(w, r)
				}
			},
		},
		"a hub under another name": {
			handler: func(t *testing.T, s *httptest.Server) http.HandlerFunc {
				t.Helper()
				return serve(t, func(int32) map[string]string { return info(t, authorityOf(s), "") })
			},
			host: "localhost", want: ErrServerCertificate,
		},
		"somebody who gives two answers": {
			handler: func(t *testing.T, s *httptest.Server) http.HandlerFunc {
				t.Helper()
				return serve(t, func(n int32) map[string]string { return info(t, authorityOf(s), strings.Repeat("x", int(n))) })
			},
			want: discovery.ErrCAMismatch,
		},
		"something without TLS":        {handler: answer(http.StatusOK, ""), plain: true, want: discovery.ErrNotAHub},
		"something else":               {handler: answer(http.StatusNotFound, "no"), want: discovery.ErrNotAHub},
		"something that refuses":       {handler: answer(http.StatusForbidden, "{}"), want: discovery.ErrNotAHub},
		"something that is not JSON":   {handler: answer(http.StatusOK, "<html>"), want: discovery.ErrNotAHub},
		"something with an empty info": {handler: answer(http.StatusOK, "{}"), want: discovery.ErrNotAHub},
		"a hub that is ill":            {handler: answer(http.StatusBadGateway, ""), want: ErrUnreachable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server := httptest.NewUnstartedServer(nil)
			if tc.plain {
				server.Start()
			} else {
				server.StartTLS()
			}
			t.Cleanup(server.Close)
			server.Config.Handler = tc.handler(t, server)
			pins, err := bootstrap.CAHash(authorityOf(another))
			g.Expect(err).NotTo(HaveOccurred())

			address := server.Listener.Addr().String()
			if tc.host != "" {
				address = tc.host + address[strings.LastIndex(address, ":"):]
			}
			deadline := time.Second // until it gives up
			if tc.want == nil {
				deadline = time.Minute // a busy machine may need it
			}
			j, err := begin(Options{
				Flags:    discovery.Flags{Hub: address, Token: tokenID + "." + tokenSecret, CACertHashes: pins, Cluster: "edge-1"},
				StateDir: filepath.Join(t.TempDir(), "state"), Member: &rest.Config{}, Deadline: deadline,
			})
			g.Expect(err).NotTo(HaveOccurred())
			ca, err := j.discover(t.Context())
			if tc.want != nil {
				g.Expect(err).To(MatchError(tc.want))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ca).To(Equal(authorityOf(another)))
		})
	}
}

// serve answers as a hub does; answer is given how often it was asked before.
func serve(t *testing.T, answer func(int32) map[string]string) http.HandlerFunc {
	t.Helper()
	var asked atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != publicPath+"cluster-info" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_ = json.NewEncoder(w).Encode(corev1.ConfigMap{Data: answer(asked.Add(1))})
	}
}

func TestRetrierGivesUpAtTheDeadlineWithTheLastReason(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fake := clocktesting.NewFakeClock(time.Now())
	var said []string
	r := &retrier{clock: stepping{fake}, deadline: fake.Now().Add(time.Minute), progress: func(s string) { said = append(said, s) }}
	reasons := []error{errors.New("first"), errors.New("second")}
	tries := 0
	err := r.do(t.Context(), func(context.Context) error {
		tries++
		return temporaryError{error: reasons[min(tries, 2)-1]}
	})
	g.Expect(err).To(MatchError(reasons[1]))
	g.Expect(err).NotTo(BeAssignableToTypeOf(temporaryError{}))
	g.Expect(tries).To(BeNumerically(">", 5))
	g.Expect(tries).To(BeNumerically("<", 60), "the pauses grow")
	g.Expect(said).To(Equal([]string{"Trying again: first", "Trying again: second"}))
}

func TestRetrierDoesNotRepeatWhatWillNotChange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &retrier{clock: clock.RealClock{}, deadline: time.Now().Add(time.Hour), progress: func(string) {}}
	tries := 0
	err := r.do(t.Context(), func(context.Context) error { tries++; return ErrDenied })
	g.Expect(err).To(MatchError(ErrDenied))
	g.Expect(tries).To(Equal(1))
}

func TestRetrierEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := &retrier{clock: clock.RealClock{}, deadline: time.Now().Add(time.Hour), progress: func(string) {}}
	err := r.do(ctx, func(context.Context) error {
		cancel()
		return temporaryError{error: ErrUnreachable}
	})
	g.Expect(err).To(MatchError(context.Canceled))
}

// stepping is a clock on which waiting takes no time.
type stepping struct{ *clocktesting.FakeClock }

func (s stepping) NewTimer(d time.Duration) clock.Timer {
	timer := s.FakeClock.NewTimer(d)
	s.Step(d)
	return timer
}
