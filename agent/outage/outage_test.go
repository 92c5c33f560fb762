package outage

import (
	"context"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

type answerer func(*http.Request) (*http.Response, error)

func (a answerer) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestAnOutageIsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	code := func(code int) answerer {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Body: http.NoBody}, nil
		}
	}
	refused := answerer(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	for name, tc := range map[string]struct {
		during, after answerer
		late          bool // the time of the request of before is over
		ended         bool
	}{
		"it was away, and answers":             {during: refused, after: code(http.StatusOK), ended: true},
		"it had no database, and answers":      {during: code(http.StatusServiceUnavailable), after: code(http.StatusCreated), ended: true},
		"it is still away":                     {during: refused, after: refused},
		"it is there, and wants to see nobody": {during: refused, after: code(http.StatusTooManyRequests)},
		"it was there all the time":            {during: code(http.StatusOK), after: code(http.StatusOK)},
		"it was busy":                          {during: refused, late: true, after: code(http.StatusOK)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			o := New()
			ended := o.Ended()
			ask := func(a answerer, late bool) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if late {
					cancel()
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://hub.example.com/", http.NoBody)
				g.Expect(err).NotTo(HaveOccurred())
				resp, err := o.Watch(a).RoundTrip(req)
				if err == nil {
					g.Expect(resp.Body.Close()).To(Succeed())
				}
			}
			ask(tc.during, tc.late)
			ask(tc.after, false)
			if !tc.ended {
				g.Expect(ended).NotTo(BeClosed())
				return
			}
			g.Expect(ended).To(BeClosed())
			g.Expect(o.Ended()).NotTo(BeClosed(), "that is the next one")
		})
	}
}
