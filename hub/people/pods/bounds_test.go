package pods_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/hub/people/pods"
)

// answering returns Members whose requests are answered by the last element of their path.
func answering(t *testing.T, answers map[string]string) *pods.Members {
	t.Helper()
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[path.Base(r.URL.Path)])
	}))
	t.Cleanup(hub.Close)
	members, err := pods.NewMembers(&rest.Config{Host: hub.URL})
	if err != nil {
		t.Fatal(err)
	}
	return members
}

// TestAnswersThatDecodeToMuchAreRefused has a member answer with what is short, and of which a decoder makes hundreds of times as much.
// It is not parallel, since it measures what the process allocates.
func TestAnswersThatDecodeToMuchAreRefused(t *testing.T) {
	many := func(value string) string { return strings.Repeat(value+",", 8<<20/(len(value)+1)) + value }
	const whole, pod = `{"metadata":{"uid":"web"}}`, `{"metadata":{"namespace":"shop","name":"one","uid":"one",` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"a","controller":true}]}}`
	for name, answers := range map[string]map[string]string{
		"pods":                       {"web": whole, "pods": `{"items":[` + many(`{}`) + `]}`},
		"pods that are none":         {"web": whole, "pods": `{"items":[` + many(`0`) + `]}`},
		"containers of a pod":        {"web": whole, "pods": `{"items":[{"spec":{"containers":[` + many(`{}`) + `]}}]}`},
		"containers of several pods": {"web": whole, "pods": `{"items":[` + many(`{"spec":{"containers":[`+strings.Repeat(`{},`, 20_000)+`{}]}}`) + `]}`},
		"what a list says of itself": {"web": whole, "pods": `{"metadata":{"a":[` + many(`{}`) + `]},"items":[]}`},
		"whoever wrote the workload": {"web": `{"metadata":{"managedFields":[` + many(`{}`) + `]}}`, "pods": `{"items":[]}`},
		"what the workload selects":  {"web": `{"spec":{"selector":{"matchExpressions":[` + many(`{}`) + `]}}}`, "pods": `{"items":[]}`},
		"what is between":            {"web": whole, "pods": `{"items":[` + pod + `]}`, "replicasets": `{"items":[` + many(`{}`) + `]}`},
		"owners of what is between":  {"web": whole, "pods": `{"items":[` + pod + `]}`, "replicasets": `{"items":[{"metadata":{"ownerReferences":[` + many(`{}`) + `]}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			members := answering(t, answers)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found := members.FindIn(t.Context(), web(), "edge-7")
			runtime.ReadMemStats(&after)
			g.Expect(found.Err() != nil || found.More || len(found.Pods) == 0).To(BeTrue())
			const most = 512 << 20 // little of this is held at a time
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", most), "bytes that were allocated in all")
		})
	}
}

// TestLargeObjectsOfAMemberAreRefused has a member send one object that is larger than any API server stores, in few
// values. It is not parallel, because it measures the allocations of the process.
func TestLargeObjectsOfAMemberAreRefused(t *testing.T) {
	text := strings.Repeat("x", 60<<20)
	const whole, pod = `{"metadata":{"uid":"web"}}`, `{"metadata":{"namespace":"shop","name":"one","uid":"one",` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"a","controller":true}]}}`
	for name, answers := range map[string]map[string]string{
		"a pod":            {"web": whole, "pods": `{"items":[` + pod + `,{"metadata":{"annotations":{"a":"` + text + `"}}}]}`},
		"the workload":     {"web": `{"metadata":{"uid":"` + text + `"}}`},
		"what is between":  {"web": whole, "pods": `{"items":[` + pod + `]}`, "replicasets": `{"items":[{"metadata":{"name":"` + text + `"}}]}`},
		"a list of itself": {"web": whole, "pods": `{"metadata":{"continue":"` + text + `"}}`},
		"a name of a list": {"web": whole, "pods": `{"` + text + `":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			members := answering(t, answers)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found := members.FindIn(t.Context(), web(), "edge-7")
			runtime.ReadMemStats(&after)
			g.Expect(found.Error).To(And(ContainSubstring("edge-7"), ContainSubstring("larger than 4 MiB")))
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 64<<20), "bytes that were allocated in all")
		})
	}
}

// TestALargePodIsRead checks that the size limit of an object does not apply to a list.
func TestALargePodIsRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	items := make([]string, 3)
	for i := range items {
		items[i] = fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"p-%d","uid":"p-%[1]d","annotations":{"a":"%s"},"ownerReferences":[{"kind":"Deployment","uid":"web","controller":true}]}}`,
			i, strings.Repeat("x", 4<<20-500))
	}
	found := answering(t, map[string]string{"web": `{"metadata":{"uid":"web"}}`, "pods": `{"items":[` + strings.Join(items, ",") + `]}`}).
		FindIn(t.Context(), web(), "edge-7")
	g.Expect(found.Err()).NotTo(HaveOccurred())
	g.Expect(found.Pods).To(HaveLen(len(items)))
}

// TestAPageOfMoreIsReadToWhatWasAskedFor has a member return more pods than requested, each with an owner of its own
// kind.
func TestAPageOfMoreIsReadToWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	items := make([]string, 100_000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"p-%d","uid":"p-%[1]d","ownerReferences":[{"kind":"K%[1]d","uid":"%[2]s","controller":true}]}}`,
			i, map[bool]string{true: "web", false: "other"}[i%2 == 0])
	}
	found := answering(t, map[string]string{
		"web": `{"metadata":{"uid":"web"}}`, "pods": `{"metadata":{"resourceVersion":"7"},"items":[` + strings.Join(items, ",") + `]}`,
	}).FindIn(t.Context(), web(), "edge-7")
	g.Expect(found.Err()).NotTo(HaveOccurred())
	g.Expect(found.More).To(BeTrue())
	const half = 250
	g.Expect(found.Pods).To(HaveLen(half), "half of the pods of one page are of the application")
}

// TestPodsWithNamesThatLeadElsewhereAreLeftOut checks that nothing a member reports leads to a path other than that of
// a pod in the namespace.
func TestPodsWithNamesThatLeadElsewhereAreLeftOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	item := func(namespace, name string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":%[2]q,"ownerReferences":[{"kind":"Deployment","uid":"web","controller":true}]}}`, namespace, name)
	}
	items := []string{item("shop", "good"), item("x/../../../..", "one"), item("other", "two"), item("", "three"), item("shop", "../../secrets"), item("shop", "")}
	found := answering(t, map[string]string{"web": `{"metadata":{"uid":"web"}}`, "pods": `{"items":[` + strings.Join(items, ",") + `]}`}).
		FindIn(t.Context(), web(), "edge-7")
	g.Expect(found.Err()).NotTo(HaveOccurred())
	g.Expect(found.Pods).To(HaveLen(1))
	g.Expect(found.Pods[0].Name).To(Equal("good"))

	app := pods.Application{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: "Pod", Namespace: "shop", Name: "web"}
	found = answering(t, map[string]string{"web": item("x/../../../..", "web")}).FindIn(t.Context(), app, "edge-7")
	g.Expect(found.Pods).To(BeEmpty())
}

// TestAMemberThatNeverEndsIsReadToABound has a member do what no honest one does: return page after page, with few
// objects each.
func TestAMemberThatNeverEndsIsReadToABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		padding  int
		resource string
		pages    int
	}{
		"large pages of pods":        {padding: 8 << 10, resource: "/pods", pages: 9},
		"small pages of pods":        {padding: 1, resource: "/pods", pages: 25},
		"large pages of in-betweens": {padding: 8 << 10, resource: "/replicasets", pages: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var pages atomic.Int32
			padding := strings.Repeat("x", c.padding)
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				const owned = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"a","controller":true}]`
				switch {
				case strings.HasSuffix(r.URL.Path, "/web"):
					_, _ = fmt.Fprint(w, `{"metadata":{"uid":"web"},"spec":{}}`)
				case !strings.HasSuffix(r.URL.Path, c.resource):
					_, _ = fmt.Fprintf(w, `{"items":[{"metadata":{"namespace":"shop","name":"one",%s}}]}`, owned)
				case pages.Add(1) > 200:
					http.Error(w, "this test has seen enough", http.StatusTeapot)
				default:
					_, _ = fmt.Fprintf(w, `{"metadata":{"continue":"more"},"items":[{"metadata":{"namespace":"shop","name":"p-%d","annotations":{"a":"%s"},%s}}]}`, pages.Load(), padding, owned)
				}
			}))
			defer hub.Close()
			members, err := pods.NewMembers(&rest.Config{Host: hub.URL})
			g.Expect(err).NotTo(HaveOccurred())
			members.ReadAtMost(64 << 10)
			found := members.FindIn(t.Context(), web(), "edge-1")
			g.Expect(pages.Load()).To(BeNumerically("<=", c.pages))
			g.Expect(found.Err()).NotTo(HaveOccurred())
			g.Expect(found.More).To(BeTrue())
		})
	}
}
