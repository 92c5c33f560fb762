package dashboard_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/showcase"
)

// visitor is a headless browser.
type visitor struct {
	t      *testing.T
	show   *showcase.Showcase
	http   *http.Client
	cookie *http.Cookie
}

// answer is a response without its body.
type answer struct {
	StatusCode int
	Header     http.Header
}

func (v *visitor) request(method, path string, form url.Values, headers ...string) (answer, string) {
	v.t.Helper()
	g := NewWithT(v.t)
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.show.URL+path, body)
	g.Expect(err).NotTo(HaveOccurred())
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	came, err := v.http.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = came.Body.Close() }()
	text, err := io.ReadAll(came.Body)
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range came.Cookies() {
		v.cookie = c
	}
	return answer{came.StatusCode, came.Header}, string(text)
}

func (v *visitor) get(path string) (int, string) {
	v.t.Helper()
	answer, text := v.request(http.MethodGet, path, nil)
	return answer.StatusCode, text
}

func (v *visitor) signIn(token string) {
	v.t.Helper()
	answer, text := v.request(http.MethodPost, "/signin", url.Values{"token": {token}})
	NewWithT(v.t).Expect(answer.StatusCode).To(Equal(http.StatusSeeOther), text)
}

// csrf returns the CSRF token of the session's forms.
func (v *visitor) csrf() string {
	v.t.Helper()
	_, text := v.get("/join")
	found := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(text)
	NewWithT(v.t).Expect(found).To(HaveLen(2), text)
	return found[1]
}

// TestHTTP tests what needs no browser, with one dashboard at which people sign in with tokens and certificates only.
func TestHTTP(t *testing.T) {
	hub := *shared.Take(t, startLogin).Showcase
	show := &hub
	show.Server, show.URL = show.Serve(t, nil, "")
	admin := show.Token(t, "root", "", showcase.Everything())
	const one = "127.0.0.1"
	strangers := 1
	another := func() string { strangers++; return fmt.Sprintf("127.0.0.%d", strangers) }
	stranger := func(t *testing.T) *visitor {
		t.Helper()
		return &visitor{t: t, show: show, http: show.HTTP(another())}
	}
	known := func(t *testing.T, token string) *visitor {
		t.Helper()
		v := stranger(t)
		v.signIn(token)
		return v
	}

	t.Run("whoever has not signed in sees nothing", func(t *testing.T) {
		g := NewWithT(t)
		for _, path := range []string{"/", "/clusters", "/clusters/bremen", "/applications", "/policies/shop/pay", "/join", "/nowhere", "/clusters/bremen/cordon"} {
			answer, text := stranger(t).request(http.MethodGet, path, nil)
			g.Expect(answer.StatusCode).To(Equal(http.StatusSeeOther), path)
			g.Expect(answer.Header.Get("Location")).To(HavePrefix("/signin"))
			g.Expect(text).NotTo(ContainSubstring("bremen</"))
		}
		for _, path := range []string{"/live/", "/live/clusters"} {
			code, _ := stranger(t).get(path)
			g.Expect(code).To(Equal(http.StatusUnauthorized))
		}
		answer, _ := stranger(t).request(http.MethodPost, "/clusters/bremen/cordon", url.Values{"csrf": {"x"}})
		g.Expect(answer.StatusCode).To(Equal(http.StatusUnauthorized))
	})
	t.Run("credentials that are none are refused, with a reason", func(t *testing.T) {
		g := NewWithT(t)
		for token, why := range map[string]string{
			"": "The token is missing", "nonsense": "does not accept this token", "two words": "This is not a token",
			strings.Repeat("x", 20_000): "This is not a token", "abcdef.0123456789abcdef": "does not accept this token",
		} {
			v := stranger(t)
			answer, text := v.request(http.MethodPost, "/signin", url.Values{"token": {token}})
			g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden))
			g.Expect(text).To(ContainSubstring(why))
			g.Expect(v.cookie).To(BeNil())
		}
	})
	t.Run("an answer says to browsers what they may do", func(t *testing.T) {
		g := NewWithT(t)
		answer, text := stranger(t).request(http.MethodGet, "/signin", nil)
		h := answer.Header
		g.Expect(h.Get("Content-Security-Policy")).To(And(ContainSubstring("default-src 'none'"), Not(ContainSubstring("unsafe")), ContainSubstring("frame-ancestors 'none'")))
		g.Expect(h.Get("X-Content-Type-Options")).To(Equal("nosniff"))
		g.Expect(h.Get("Cache-Control")).To(Equal("no-store"))
		g.Expect(text).NotTo(MatchRegexp(`(?i)(src|href)="https?://|<style|style="|onclick=|<script>`))
		v := known(t, admin)
		g.Expect(v.cookie.Name).To(Equal("__Host-fairlead"))
		g.Expect(v.cookie.HttpOnly && v.cookie.Secure && v.cookie.SameSite == http.SameSiteStrictMode && v.cookie.Path == "/" && v.cookie.Domain == "").To(BeTrue())
	})
	t.Run("a form of another site or of another session does nothing", func(t *testing.T) {
		g := NewWithT(t)
		v := known(t, admin)
		for name, try := range map[string]struct {
			form    url.Values
			headers []string
			code    int
		}{
			"another site":    {url.Values{"csrf": {v.csrf()}}, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
			"another origin":  {url.Values{"csrf": {v.csrf()}}, []string{"Origin", "https://elsewhere.example"}, http.StatusForbidden},
			"no secret":       {url.Values{}, nil, http.StatusBadRequest},
			"another secret":  {url.Values{"csrf": {known(t, admin).csrf()}}, nil, http.StatusBadRequest},
			"too long a form": {url.Values{"csrf": {v.csrf()}, "more": {strings.Repeat("x", 100_000)}}, nil, http.StatusBadRequest},
		} {
			answer, text := v.request(http.MethodPost, "/clusters/bremen/cordon", try.form, try.headers...)
			g.Expect(answer.StatusCode).To(Equal(try.code), name+": "+text)
		}
		c := &clusterv1alpha1.Cluster{}
		g.Expect(show.Client.Get(t.Context(), client.ObjectKey{Name: "bremen"}, c)).To(Succeed())
		g.Expect(c.Spec.Taints).To(BeEmpty())
	})
	t.Run("nothing that changes something is done for another site", func(t *testing.T) {
		g := NewWithT(t)
		v := known(t, admin)
		own := v.csrf()
		for _, path := range []string{
			"/signin", "/signin/link", "/signout", "/join", "/join/ship-17/approve", "/clusters/bremen/cordon", "/clusters/bremen/uncordon",
			"/policies/shop/pay/suspend", "/policies/shop/pay/resume", "/applications/shop/web-deployment/rebalance", "/applications/shop/web-deployment/terminal",
			"/rollouts/shop/web-deployment/pause", "/rollouts/shop/web-deployment/resume", "/rollouts/shop/web-deployment/approve",
			"/rollouts/shop/web-deployment/undo", "/rollouts/shop/web-deployment/abort", "/rollouts/shop/web-deployment/retry", "/rollouts/shop/web-deployment/skip",
		} {
			for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"}, {"Origin", "https://elsewhere.example"}} {
				answer, text := v.request(http.MethodPost, path, url.Values{"csrf": {own}, "token": {admin}}, headers...)
				g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden), path)
				g.Expect(text).To(ContainSubstring("made by another site"), path)
			}
			if strings.HasPrefix(path, "/signin") {
				continue // there is no session yet
			}
			answer, _ := v.request(http.MethodPost, path, url.Values{"csrf": {"guessed"}})
			g.Expect(answer.StatusCode).To(Or(Equal(http.StatusBadRequest), Equal(http.StatusForbidden)), path)
		}
		for _, path := range []string{"/signout", "/clusters/bremen/cordon?csrf=" + own, "/join/ship-17/approve?csrf=" + own} {
			v.get(path) // a GET changes nothing
		}
		code, _ := v.get("/clusters")
		g.Expect(code).To(Equal(http.StatusOK), "nobody was signed out")
		c := &clusterv1alpha1.Cluster{}
		g.Expect(show.Client.Get(t.Context(), client.ObjectKey{Name: "bremen"}, c)).To(Succeed())
		g.Expect(c.Spec.Taints).To(BeEmpty())
	})
	t.Run("hostile input is an error or a text", func(t *testing.T) {
		g := NewWithT(t)
		v := known(t, admin)
		const script = `<script>alert(1)</script>`
		for _, path := range []string{
			"/clusters?q=" + url.QueryEscape(script), "/clusters?state=" + url.QueryEscape(`"><img src=x>`), "/clusters?page=-1", "/clusters?page=99999999999999999999",
			"/clusters?sort=" + url.QueryEscape(script), "/applications?cluster=" + url.QueryEscape(script), "/applications?columns=0x10", "/clusters?q=" + strings.Repeat("a", 5000),
			"/applications/shop/web-deployment?cluster=" + url.QueryEscape("../../x") + "&show=diff", "/applications/shop/web-deployment?against=" + url.QueryEscape(script),
		} {
			code, text := v.get(path)
			g.Expect(code).To(Equal(http.StatusOK), path)
			g.Expect(text).NotTo(ContainSubstring(script), path)
			g.Expect(text).NotTo(ContainSubstring("<img src=x>"), path)
		}
		for _, path := range []string{
			"/clusters/" + url.PathEscape(script), "/clusters/..%2f..%2fapi", "/applications/-/" + url.PathEscape(script), "/policies/x/" + url.PathEscape("a/b"),
			"/join/" + url.PathEscape(script), "/static/..%2fserver.go", "/nowhere",
		} {
			code, text := v.get(path)
			g.Expect(code).To(BeNumerically(">=", 400), path)
			g.Expect(code).To(BeNumerically("<", 500), path)
			g.Expect(text).NotTo(ContainSubstring(script), path)
		}
		answer, _ := stranger(t).request(http.MethodPost, "/signin", url.Values{"token": {admin}, "to": {"//elsewhere.example/"}})
		g.Expect(answer.Header.Get("Location")).To(Equal("/"), "it leads nowhere else")
	})
	t.Run("everybody sees what the API server would list for them", func(t *testing.T) {
		g := NewWithT(t)
		v := known(t, show.Token(t, "shopper", "shop", showcase.Reads()...))
		_, text := v.get("/applications")
		g.Expect(text).To(And(ContainSubstring("checkout"), Not(ContainSubstring("simulation")), ContainSubstring("there may be others")))
		code, text := v.get("/clusters")
		g.Expect(code).To(Equal(http.StatusForbidden))
		g.Expect(text).To(And(ContainSubstring("may not list clusters.cluster.karmada.io"), Not(ContainSubstring("bremen"))))
		code, _ = v.get("/applications/lab/simulation-deployment")
		g.Expect(code).To(Equal(http.StatusForbidden))
		_, text = v.get("/applications/shop/web-deployment?cluster=hamburg")
		g.Expect(text).To(ContainSubstring("You may not read what hamburg was sent"))
		_, text = v.get("/")
		g.Expect(text).To(And(ContainSubstring("You may not list clusters"), Not(ContainSubstring("lab/"))))
		nobody := known(t, show.Token(t, "nobody", ""))
		_, text = nobody.get("/")
		g.Expect(text).To(ContainSubstring("You do not see clusters, heartbeats of agents, applications of every namespace, policies of every namespace"))
		g.Expect(text).NotTo(MatchRegexp("All is well|all are ready|Nothing is here yet|is accepted and healthy"), "who sees nothing is told nothing of how it is")
		_, text = nobody.get("/applications")
		g.Expect(text).NotTo(ContainSubstring("checkout"))
		_, text = nobody.get("/policies")
		g.Expect(text).NotTo(ContainSubstring("everywhere"))
		code, _ = nobody.get("/clusters/bremen")
		g.Expect(code).To(Equal(http.StatusForbidden))
	})
	t.Run("the newest events are shown, however many there are", func(t *testing.T) {
		g := NewWithT(t)
		event := func(name, message string, at time.Time) *corev1.Event {
			return &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: name},
				InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"},
				Type:           corev1.EventTypeNormal, Reason: "Told", Message: message, LastTimestamp: metav1.NewTime(at), Count: 1,
			}
		}
		for i := range 200 {
			g.Expect(show.Client.Create(t.Context(), event(fmt.Sprintf("a-%d", i), fmt.Sprintf("Event %d.", i), time.Now().Add(-time.Hour)))).To(Succeed())
		}
		g.Expect(show.Client.Create(t.Context(), event("z", "This one is the newest.\x1b[2J\u202e", time.Now()))).To(Succeed())
		_, text := known(t, admin).get("/applications/shop/cart-deployment")
		g.Expect(text).To(ContainSubstring("This one is the newest."))
		g.Expect(text).To(And(ContainSubstring(`newest.\x1b[2J\u202e`), Not(ContainSubstring("\u202e"))), "what turns text around is written out")
		g.Expect(strings.Count(text, "Event ")).To(BeNumerically("<=", 40))
	})
	t.Run("what is done is done with the rights of the person", func(t *testing.T) {
		g := NewWithT(t)
		look := rbacv1.PolicyRule{APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters"}, Verbs: []string{"get", "list"}}
		v := known(t, show.Token(t, "looker", "", look))
		_, text := v.get("/clusters/bremen")
		g.Expect(text).NotTo(ContainSubstring("/cordon"), "what is not allowed is not offered")
		_, text = v.get("/")
		csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(text)[1]
		answer, text := v.request(http.MethodPost, "/clusters/bremen/cordon", url.Values{"csrf": {csrf}})
		g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden))
		g.Expect(text).To(ContainSubstring("You may not do this"))
		root := known(t, admin)
		answer, _ = root.request(http.MethodPost, "/clusters/porto/cordon", url.Values{"csrf": {root.csrf()}, "evict": {"yes"}})
		g.Expect(answer.StatusCode).To(Equal(http.StatusSeeOther))
		c := &clusterv1alpha1.Cluster{}
		g.Expect(show.Client.Get(t.Context(), client.ObjectKey{Name: "porto"}, c)).To(Succeed())
		g.Expect(c.Spec.Taints).To(HaveLen(2))
		manager := ""
		for _, m := range c.ManagedFields {
			manager += m.Manager + " "
		}
		g.Expect(manager).To(ContainSubstring(contract.FieldManagerDashboard))
	})
	t.Run("rollouts are seen as far as people may", func(t *testing.T) { rolloutsAreSeen(t, known, show, admin) })
	t.Run("rollouts are steered with the rights of the person", func(t *testing.T) { rolloutsAreSteered(t, known, show, admin) })
	t.Run("the request to join that was looked at is accepted, and no other", func(t *testing.T) { theRequestThatWasLookedAtIsAccepted(t, known, show, admin) })
	t.Run("a certificate signs in its holder, and is to be shown all the time", func(t *testing.T) {
		g := NewWithT(t)
		v := &visitor{t: t, show: show, http: show.HTTP(one, certificate(t, show))}
		_, text := v.get("/signin")
		g.Expect(text).To(ContainSubstring("Sign in with the certificate"))
		answer, text := v.request(http.MethodPost, "/signin", url.Values{"with": {"certificate"}})
		g.Expect(answer.StatusCode).To(Equal(http.StatusSeeOther), text)
		code, _ := v.get("/clusters")
		g.Expect(code).To(Equal(http.StatusOK))
		v.http = show.HTTP(one)
		code, _ = v.get("/clusters")
		g.Expect(code).To(Equal(http.StatusSeeOther), "the cookie alone is not enough")
		answer, text = stranger(t).request(http.MethodPost, "/signin", url.Values{"with": {"certificate"}})
		g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden), text)
	})
	t.Run("whoever signs out is out", func(t *testing.T) {
		g := NewWithT(t)
		v := known(t, admin)
		cookie := v.cookie
		answer, _ := v.request(http.MethodPost, "/signout", url.Values{"csrf": {v.csrf()}})
		g.Expect(answer.StatusCode).To(Equal(http.StatusSeeOther))
		v.cookie = cookie
		code, _ := v.get("/clusters")
		g.Expect(code).To(Equal(http.StatusSeeOther))
	})
	t.Run("a stream sends what changed, and nothing else", func(t *testing.T) { stream(t, known(t, admin)) })
	t.Run("members are reached with the rights of the person", func(t *testing.T) { membersAreReached(t, show, admin) })
	t.Run("too many tries are refused", func(t *testing.T) {
		g := NewWithT(t)
		guesser := stranger(t)
		g.Eventually(func() int {
			answer, _ := guesser.request(http.MethodPost, "/signin", url.Values{"token": {"guess"}})
			return answer.StatusCode
		}).WithTimeout(time.Minute).Should(Equal(http.StatusTooManyRequests))
	})
}

// certificate returns the client certificate of the hub's administrator.
func certificate(t *testing.T, show *showcase.Showcase) tls.Certificate {
	t.Helper()
	g := NewWithT(t)
	raw, err := os.ReadFile(show.Hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(raw)
	g.Expect(err).NotTo(HaveOccurred())
	for _, user := range config.AuthInfos {
		pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
		g.Expect(err).NotTo(HaveOccurred())
		return pair
	}
	t.Fatal("the kubeconfig has no user")
	return tls.Certificate{}
}

// stream opens the event stream of the clusters page with the page's tags, changes one cluster, and reads what arrives.
func stream(t *testing.T, v *visitor) {
	t.Helper()
	g := NewWithT(t)
	_, text := v.get("/clusters/rotterdam")
	var have []string
	for _, m := range regexp.MustCompile(`data-fragment="([^"]+)" data-tag="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		have = append(have, m[1]+"-"+m[2])
	}
	g.Expect(len(have)).To(BeNumerically(">", 3))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.show.URL+"/live/clusters/rotterdam?have="+strings.Join(have, "."), nil)
	g.Expect(err).NotTo(HaveOccurred())
	r.AddCookie(v.cookie)
	answer, err := v.http.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	g.Expect(answer.Header.Get("Content-Type")).To(Equal("text/event-stream"))
	showcase.Put(t, v.show.Client, showcase.MakeCluster("rotterdam", "Unknown", "west", 7))
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var one struct{ ID, HTML string }
		if !ok || json.Unmarshal([]byte(data), &one) != nil || one.ID == "" {
			continue
		}
		g.Expect(one.ID).NotTo(Equal("events"), "what is the same is not sent")
		if one.ID == "facts" && strings.Contains(one.HTML, "Silent") {
			return
		}
	}
	t.Fatalf("the stream ended without the change: %v", lines.Err())
}
