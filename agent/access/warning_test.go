package access

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWarningsNameChangesThatTheAgentUndoes(t *testing.T) {
	t.Parallel()
	const (
		managed = `{"kind":"A","apiVersion":"v1","metadata":{"name":"a","labels":{"karmada.io/managed":"true"}},"data":{}}`
		others  = `{"kind":"A","apiVersion":"v1","data":{"metadata":{"labels":{"karmada.io/managed":"true"}}},"metadata":{"name":"a","labels":{"karmada.io/managed":"false"}}}`
		maps    = "/api/v1/namespaces/shop/configmaps"
		scale   = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
	)
	large := `{"apiVersion":"v1","data":{"a":"` + strings.Repeat("a", maxHead) + `"},"kind":"A","metadata":{"labels":{"karmada.io/managed":"true"}}}`
	for name, tc := range map[string]struct {
		request    string // METHOD PATH
		is         string // the object before the request
		status     int    // of the answer
		answer     string
		compressed bool
		warned     bool
		looked     string // where the agent looked before
	}{
		"a change": {request: "PUT " + maps + "/a", is: managed, status: 200, warned: true, looked: maps + "/a"},
		"a patch":  {request: "PATCH " + maps + "/a?fieldManager=me", is: managed, status: 200, warned: true, looked: maps + "/a"},
		"a deletion, whose answer says of no object": {request: "DELETE " + maps + "/a", is: managed, status: 200, answer: `{"kind":"Status"}`, warned: true, looked: maps + "/a"},
		"a deletion that goes on":                    {request: "DELETE " + maps + "/a", is: managed, status: 202, warned: true, looked: maps + "/a"},
		"a scale":                                    {request: "PATCH " + scale, is: managed, status: 200, warned: true, looked: strings.TrimSuffix(scale, "/scale")},
		"an eviction":                                {request: "POST /api/v1/namespaces/shop/pods/a/eviction", is: managed, status: 201, warned: true, looked: "/api/v1/namespaces/shop/pods/a"},
		"a namespace":                                {request: "PATCH /api/v1/namespaces/shop", is: managed, status: 200, warned: true, looked: "/api/v1/namespaces/shop"},
		"what is no business of the hub":             {request: "PUT " + maps + "/a", is: others, status: 200, looked: maps + "/a"},
		"what is not there":                          {request: "PATCH " + maps + "/a", status: 201, answer: others, looked: maps + "/a"},
		"what was refused":                           {request: "PUT " + maps + "/a", is: managed, status: 409, looked: maps + "/a"},
		"a trial run":                                {request: "PATCH " + maps + "/a?dryRun=All", is: managed, status: 200},
		"a status":                                   {request: "PATCH /apis/apps/v1/namespaces/shop/deployments/web/status", is: managed, status: 200},
		"what is only read":                          {request: "GET " + maps + "/a", is: managed, status: 200},
		"all of a kind":                              {request: "DELETE " + maps, is: managed, status: 200},
		"what is made with the label":                {request: "POST " + maps, status: 201, answer: managed, warned: true},
		"what is made without it":                    {request: "POST " + maps, status: 201, answer: others},
		"what is too large to find the label":        {request: "POST " + maps, status: 201, answer: large},
		"what is compressed":                         {request: "POST " + maps, status: 201, answer: managed, compressed: true},
		"what is none of JSON":                       {request: "POST " + maps, status: 201, answer: "k8s\x00" + managed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			method, path, _ := strings.Cut(tc.request, " ")
			var mu sync.Mutex
			looked := ""
			m := newMember(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
					mu.Lock()
					defer mu.Unlock()
					looked = r.URL.Path
					// The agent's own rights are for nothing that operators ask for.
					if r.Header.Get("Authorization") != "Bearer connect-1" || r.Header.Get("Impersonate-User") != "fairlead:alice" || tc.is == "" {
						w.WriteHeader(http.StatusNotFound)
						return
					}
					_, _ = io.WriteString(w, tc.is)
					return
				}
				if tc.compressed {
					w.Header().Set("Content-Encoding", "gzip")
				}
				w.Header().Add("Warning", `299 - "of the member"`)
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.answer)
			})
			code, body, header := newServed(t, m).ask(t, method, path, http.Header{"Accept-Encoding": {"gzip"}}) // compressed only if the member compresses
			g.Expect(code).To(Equal(tc.status), body)
			g.Expect(body).To(Equal(tc.answer), "all of it")
			want := []string{`299 - "of the member"`}
			if tc.warned {
				g.Expect(header.Values("Warning")).To(HaveLen(2))
				g.Expect(header.Values("Warning")[1]).To(And(HavePrefix(`299 fairlead-connect "edge-1: the hub sends `), HaveSuffix(`undone; change it on the hub"`)))
			} else {
				g.Expect(header.Values("Warning")).To(Equal(want))
			}
			mu.Lock()
			defer mu.Unlock()
			g.Expect(looked).To(Equal(tc.looked))
		})
	}
}
