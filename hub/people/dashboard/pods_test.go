package dashboard_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	. "github.com/onsi/gomega"

	"fairlead.dev/test/reachable"
	"fairlead.dev/test/showcase"
)

// membersAreReached tests pods, logs and terminals of a dashboard with the connected member hamburg.
func membersAreReached(t *testing.T, show *showcase.Showcase, admin string) {
	t.Helper()
	g := NewWithT(t)
	hub := reachable.New(t, "hamburg", "shop", "web", reachable.InFrontOf(t, show.Hub.Config))
	hub.Run("web-1", "rs-web")
	hub.Run("stranger", "rs-other")
	hub.Write("web-1", "<b>first</b>\x1b[2J")
	through := *show
	_, through.URL = show.ServeThrough(t, hub.URL)
	browser := func() *visitor {
		v := &visitor{t: t, show: &through, http: show.HTTP("127.0.0.1")}
		v.signIn(admin)
		return v
	}
	v := browser()
	const app = "/applications/shop/web-deployment"

	_, text := v.get("/clusters/hamburg")
	g.Expect(text).To(And(ContainSubstring(`up</span> since <time datetime="2026-11-23T08:00:00Z"`), ContainSubstring("<dt>Operators</dt><dd>read</dd>")))
	_, text = v.get("/clusters/bremen")
	g.Expect(text).To(And(ContainSubstring(`down</span> since <time`), ContainSubstring("it was lost, and the agent has not come back")))
	g.Expect(hub.Came()).To(BeEmpty(), "the hub says it, not the member")
	_, text = v.get(app)
	g.Expect(text).To(ContainSubstring(app + "/pods"))
	g.Expect(hub.Came()).To(BeEmpty(), "nobody asks a member before a person does")
	_, text = v.get(app + "/pods")
	g.Expect(text).To(And(ContainSubstring(">web-1<"), Not(ContainSubstring("stranger")), ContainSubstring("bremen is not connected: line lost 12s ago")))
	_, text = v.get(app + "/logs?cluster=hamburg&pod=web-1")
	g.Expect(text).To(ContainSubstring(`data-stream="` + app + `/logs/stream?cluster=hamburg&amp;follow=yes&amp;pod=web-1&amp;tail=100"`))
	came, text := v.request(http.MethodGet, app+"/logs/stream?cluster=hamburg", nil)
	g.Expect(text).To(Equal("[hamburg/web-1] <b>first</b>\\x1b[2J\n"))
	g.Expect(came.Header.Get("Content-Type")).To(HavePrefix("text/plain"))
	g.Expect(came.Header.Get("X-Content-Type-Options")).To(Equal("nosniff"))
	for _, path := range []string{app + "/pods?cluster=oslo", app + "/logs?cluster=oslo", app + "/logs/stream?pod=web-1", app + "/logs/stream?cluster=hamburg&pod=..%2fx", app + "/terminal?cluster=oslo&pod=web-1"} {
		code, _ := v.get(path)
		g.Expect(code).To(Equal(http.StatusNotFound), path)
	}

	// A terminal.
	form := url.Values{"csrf": {v.csrf()}, "cluster": {"hamburg"}, "pod": {"web-1"}, "command": {"cat -n"}}
	asked := func(pod string) (int, string) {
		form.Set("pod", pod)
		came, text := v.request(http.MethodPost, app+"/terminal", form)
		return came.StatusCode, text
	}
	code, text := asked("stranger")
	g.Expect(code).To(Equal(http.StatusNotFound))
	g.Expect(text).To(ContainSubstring("not one of Deployment shop/web"))
	ticket := func() string {
		code, text := asked("web-1")
		g.Expect(code).To(Equal(http.StatusCreated), text)
		var out struct{ Path string }
		g.Expect(json.Unmarshal([]byte(text), &out)).To(Succeed())
		return out.Path
	}
	dial := func(by *visitor, path, origin string) (*websocket.Conn, int) {
		header := http.Header{"Cookie": {by.cookie.String()}}
		if origin != "" {
			header.Set("Origin", origin)
		}
		d := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: show.Authority, MinVersion: tls.VersionTLS12}, HandshakeTimeout: time.Minute}
		conn, answer, err := d.DialContext(t.Context(), "wss"+strings.TrimPrefix(through.URL, "https")+path, header)
		if answer != nil {
			defer func() { _ = answer.Body.Close() }()
		}
		if err != nil {
			g.Expect(answer).NotTo(BeNil(), "%v", err)
			return nil, answer.StatusCode
		}
		t.Cleanup(func() { _ = conn.Close() })
		g.Expect(conn.SetReadDeadline(time.Now().Add(time.Minute))).To(Succeed())
		return conn, answer.StatusCode
	}
	path := ticket()
	for _, origin := range []string{"", "https://elsewhere.example", "null", strings.Replace(through.URL, "https", "http", 1)} {
		_, code := dial(v, path, origin)
		g.Expect(code).To(Equal(http.StatusForbidden), origin)
	}
	_, code = dial(browser(), path, through.URL)
	g.Expect(code).To(Equal(http.StatusForbidden), "it is a ticket of another session")
	conn, code := dial(v, path, through.URL)
	g.Expect(code).To(Equal(http.StatusSwitchingProtocols))
	g.Expect(conn.WriteMessage(websocket.TextMessage, []byte(`{"columns":80,"rows":24}`))).To(Succeed())
	g.Expect(conn.WriteMessage(websocket.BinaryMessage, []byte("hello"))).To(Succeed())
	_, said, err := conn.ReadMessage()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(said)).To(Equal("HELLO"))
	_, code = dial(v, path, through.URL)
	g.Expect(code).To(Equal(http.StatusForbidden), "a ticket is good once")

	// Signing out closes logs and terminals.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, through.URL+app+"/logs/stream?cluster=hamburg&follow=yes", nil)
	g.Expect(err).NotTo(HaveOccurred())
	r.AddCookie(v.cookie)
	answer, err := v.http.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	g.Expect(lines.Scan()).To(BeTrue())
	came, _ = v.request(http.MethodPost, "/signout", url.Values{"csrf": form["csrf"]})
	g.Expect(came.StatusCode).To(Equal(http.StatusSeeOther))
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(Equal("# You are not signed in any more."))
	g.Expect(lines.Scan()).To(BeFalse())
	_, said, err = conn.ReadMessage()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(said)).To(Equal(`{"end":"You are not signed in any more."}`))

	g.Expect(hub.Came()).To(Equal([]string{"Bearer " + admin}), "nobody else's credentials were used")
}
