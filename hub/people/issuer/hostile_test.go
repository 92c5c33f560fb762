package issuer_test

import (
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/issuer"
	provider "fairlead.dev/test/issuer"
)

// endless answers for as long as the client reads.
func endless(w http.ResponseWriter, _ *http.Request) {
	part := []byte(strings.Repeat(" ", 1<<16))
	for {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// packed answers megabytes compressed into a few bytes.
func packed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	pack := gzip.NewWriter(w)
	part := []byte(strings.Repeat(" ", 1<<20))
	for range 4 {
		if _, err := pack.Write(part); err != nil {
			return
		}
	}
	_ = pack.Close()
}

// to redirects to an address.
func to(address string, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, code) }
}

func bigHeader(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Big", strings.Repeat("x", 1<<20))
}

// TestAnIssuerOutOfOrderCostsLittle has each endpoint of the issuer answer endlessly, or redirect elsewhere.
func TestAnIssuerOutOfOrderCostsLittle(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	t.Cleanup(elsewhere.Close)
	p, _, _ := start(t, nil)
	const discovery, keys, token = "/.well-known/openid-configuration", "/keys", "/token"
	for name, test := range map[string]struct {
		path   string
		answer http.HandlerFunc
		why    string
	}{
		"discovery without end":          {discovery, endless, ""},
		"discovery of megabytes, packed": {discovery, packed, ""},
		"discovery with a header":        {discovery, bigHeader, "header"},
		"discovery in a circle":          {discovery, to(discovery, http.StatusFound), "leads on more than 5 times"},
		"discovery without TLS":          {discovery, to(elsewhere.URL, http.StatusFound), "no https:// address"},
		"keys without end":               {keys, endless, ""},
		"keys in a circle":               {keys, to(keys, http.StatusFound), "leads on more than 5 times"},
		"keys without TLS":               {keys, to(elsewhere.URL, http.StatusFound), "no https:// address"},
		"tokens without end":             {token, endless, ""},
		"tokens of megabytes, packed":    {token, packed, ""},
		"tokens from elsewhere":          {token, to(elsewhere.URL, http.StatusTemporaryRedirect), "does not answer itself"},
		"tokens from here, by GET":       {token, to("/other", http.StatusFound), "does not answer itself"},
		"a page instead of a token":      {token, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i, err := issuer.New(issuer.Options{URL: p.URL, ClientID: p.ClientID, CAFile: p.CAFile, Clock: clock.RealClock{}})
			g.Expect(err).NotTo(HaveOccurred())
			defer p.SetAnswer(test.path, nil)
			if test.path == discovery {
				p.SetAnswer(test.path, test.answer)
				_, _, err = i.Begin(t.Context(), back)
			} else {
				a, came := attend(t, p, i)
				p.SetAnswer(test.path, test.answer)
				_, err = i.Finish(t.Context(), a, came)
			}
			g.Expect(isAway(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(test.why)))
			g.Expect(len(err.Error())).To(BeNumerically("<", 1000))
			g.Expect(seen.Load()).To(BeZero(), "what is for the issuer goes nowhere else")
		})
	}
}

func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, i, _ := start(t, nil)
	groups := func(n int) func(provider.Claims) string {
		return func(c provider.Claims) string { return p.Sign(c.With("groups", strings.Repeat("g", n))) }
	}
	p.SetIDToken(groups(20_000))
	a, came := attend(t, p, i)
	_, err := i.Finish(t.Context(), a, came)
	var no issuer.RefusedError
	g.Expect(errors.As(err, &no)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("fewer groups")))

	p.SetIDToken(groups(5_000))
	a, came = attend(t, p, i)
	tokens, err := i.Finish(t.Context(), a, came)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(i.SignOutURL(t.Context(), tokens, back)).To(And(ContainSubstring("client_id="), Not(ContainSubstring("id_token_hint"))), "no server takes so long an address")
}

// TestNobodyWaitsForWhatIsKnown has the issuer be slow when its configuration is refreshed.
func TestNobodyWaitsForWhatIsKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, i, now := start(t, nil)
	var asked atomic.Int64
	goOn := make(chan struct{})
	slow := func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
	}
	p.SetAnswer("/.well-known/openid-configuration", slow)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, _, err := i.Begin(ctx, back)
		left <- err
	}()
	g.Eventually(asked.Load).WithTimeout(time.Minute).Should(BeNumerically("==", 1))
	cancel()
	g.Eventually(left).WithTimeout(time.Minute).Should(Receive(MatchError(context.Canceled)), "who goes away waits no more")
	p.SetAnswer("/.well-known/openid-configuration", nil)
	close(goOn) // with an invalid response
	g.Eventually(func() error {
		now.Step(3 * time.Second)
		_, _, err := i.Begin(t.Context(), back)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())

	goOn = make(chan struct{})
	defer close(goOn)
	p.SetAnswer("/.well-known/openid-configuration", slow)
	now.Step(time.Hour)
	for range 10 {
		_, _, err := i.Begin(ctx, back) // canceled, so that it fails if it waits for the issuer
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Eventually(asked.Load).WithTimeout(time.Minute).Should(BeNumerically("==", 2), "it is asked once for all")
}

func TestOnlyWhatNeedsTheIssuersKeyIsBelieved(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"none", "HS256", "RS1", ""} {
		_, err := issuer.New(issuer.Options{URL: "https://login.example.com", ClientID: "x", SigningAlgs: []string{"RS256", alg}, Clock: clock.RealClock{}})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("cannot be believed")), alg)
	}
}
