package registration

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

const (
	ownCluster = "/apis/cluster.karmada.io/v1alpha1/clusters/edge-1"
	ownWorks   = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-edge-1/works"
	ofAnAPI    = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
)

// answer is one that an agent got.
type answer struct {
	at     time.Duration
	method string // empty is GET
	path   string
	code   int
	body   string
	gzip   bool
	// shown is whether the hub served its public information at the same time.
	shown bool
}

func (a answer) seen(g Gomega, r *refusalTracker, start time.Time) {
	request := &http.Request{Method: a.method, URL: &url.URL{Path: a.path}}
	if a.method == "" {
		request.Method = http.MethodGet
	}
	var body bytes.Buffer
	response := &http.Response{StatusCode: a.code, Header: http.Header{}}
	if a.gzip {
		response.Header.Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(&body)
		_, err := zip.Write([]byte(a.body))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(zip.Close()).To(Succeed())
	} else {
		body.WriteString(a.body)
	}
	whole := bytes.Clone(body.Bytes())
	response.Body = io.NopCloser(&body)
	r.observe(request, response, start.Add(a.at))
	if a.shown {
		r.confirm(start.Add(a.at))
	}
	left, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(Equal(whole), "who reads it afterwards finds it whole")
}

func TestThatAHubRefusedIsKnownToTheNextStart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c := clocktesting.NewFakeClock(start)
	dir := t.TempDir()
	opened := func() *rotator {
		out := &Credentials{state: state{dir: dir}, clock: c}
		g.Expect(out.recallRefusal()).To(Succeed())
		return &rotator{Credentials: out}
	}
	said := func(k *rotator, code int) {
		answer{at: c.Since(start), path: ownCluster, code: code, body: ofAnAPI, shown: true}.seen(g, &k.refusals, start)
		k.keepRefusal(t.Context())
	}
	is := func(k *rotator) bool {
		since, lasts := k.Refused()
		g.Expect(lasts).To(Equal(!since.IsZero()))
		return lasts
	}
	k := opened()
	said(k, http.StatusForbidden)
	g.Expect(is(opened())).To(BeFalse(), "it may pass")
	c.Step(time.Minute)
	said(k, http.StatusForbidden)
	c.Step(1000 * time.Hour)
	g.Expect(is(opened())).To(BeTrue(), "the hub is silent since")
	k = opened()
	since, _ := k.Refused()
	g.Expect(since).To(BeTemporally("==", start))
	said(k, http.StatusOK)
	g.Expect(is(opened())).To(BeFalse())
}

func TestWhenAHubRefusesAnAgent(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	refused := func(at time.Duration) answer {
		return answer{at: at, path: ownCluster, code: http.StatusForbidden, body: ofAnAPI, shown: true}
	}
	refusesAll := func(at time.Duration) answer {
		return answer{at: at, path: ownCluster, code: http.StatusForbidden, body: ofAnAPI}
	}
	for name, tc := range map[string]struct {
		answers []answer
		now     time.Duration
		since   time.Duration // -1 is that it does not
		lasts   bool
	}{
		"nothing was asked":                           {now: time.Hour, since: -1},
		"it did a moment ago":                         {answers: []answer{refused(time.Second)}, now: 5 * time.Second, since: time.Second},
		"it did, and fell silent":                     {answers: []answer{refused(0)}, now: 2 * time.Minute, since: -1},
		"it does for a minute":                        {answers: []answer{refused(0), refused(30 * time.Second), refused(time.Minute)}, now: time.Minute, lasts: true},
		"what lasted counts while it is silent":       {answers: []answer{refused(0), refused(time.Minute)}, now: 100 * time.Hour, lasts: true},
		"what was long ago is no beginning":           {answers: []answer{refused(0), refused(time.Hour)}, now: time.Hour, since: time.Hour},
		"its database is away, and it refuses all":    {answers: []answer{refusesAll(0), refusesAll(30 * time.Second), refusesAll(100 * time.Second)}, now: 100 * time.Second},
		"and then falls silent":                       {answers: []answer{refusesAll(0), refusesAll(100 * time.Second)}, now: time.Hour, since: -1},
		"its certificate ended":                       {answers: []answer{{path: ownCluster, code: http.StatusUnauthorized, body: ofAnAPI}}},
		"it lets it in again":                         {answers: []answer{refused(0), refused(time.Minute), {at: time.Minute, path: ownCluster, code: 200}}, now: time.Minute, since: -1},
		"it shows it its Works again":                 {answers: []answer{refused(0), refused(time.Minute), {at: time.Minute, path: ownWorks, code: 200}}, now: time.Minute, since: -1},
		"to ask whether it is ready says nothing":     {answers: []answer{refused(0), {path: "/readyz", code: 200}}},
		"a change of the Cluster says nothing":        {answers: []answer{{method: http.MethodPatch, path: ownCluster, code: 403, body: ofAnAPI}}, since: -1},
		"the namespace of its Works is lost":          {answers: []answer{{path: ownWorks, code: 403, body: ofAnAPI}}, since: -1},
		"something of another version":                {answers: []answer{{path: "/apis/config.karmada.io/v1alpha1/things", code: 403, body: ofAnAPI}}, since: -1},
		"who stands before it says so":                {answers: []answer{{path: ownCluster, code: 403, body: "<html>Please sign in</html>"}}, since: -1},
		"who stands before it says so in JSON":        {answers: []answer{{path: ownCluster, code: 401, body: `{"error":"login"}`}}, since: -1},
		"it cannot serve":                             {answers: []answer{{path: ownCluster, code: 503, body: ofAnAPI}}, since: -1},
		"it says so compressed":                       {answers: []answer{{path: ownCluster, code: 403, body: ofAnAPI, gzip: true}}},
		"it says so in protobuf":                      {answers: []answer{{path: ownCluster, code: 403, body: "k8s\x00\n\x0c\n\x02v1\x12\x06Status"}}},
		"a watch of its Cluster":                      {answers: []answer{{path: "/apis/cluster.karmada.io/v1alpha1/clusters", code: 403, body: ofAnAPI}}},
		"what is compressed badly is of nobody known": {answers: []answer{{path: ownCluster, code: 403, body: "", gzip: true}}, since: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r := NewWithT(t), &refusalTracker{}
			for _, a := range tc.answers {
				a.seen(g, r, start)
			}
			since, lasts := r.refusedSince(start.Add(tc.now))
			want := time.Time{}
			if tc.since >= 0 {
				want = start.Add(tc.since)
			}
			g.Expect(since).To(Equal(want))
			g.Expect(lasts).To(Equal(tc.lasts))
		})
	}
}
