package status

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// rolling is a Deployment as the member shows it when so many of its pods are ready.
func rolling(ready int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "uid-1", "generation": int64(1)},
		"spec":     map[string]any{"replicas": int64(5000)},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(5000), "updatedReplicas": int64(5000),
			"readyReplicas": int64(ready), "availableReplicas": int64(ready),
		},
	}}
	obj.SetResourceVersion(strconv.Itoa(1000 + ready))
	return obj
}

// TestFiveThousandChangingPodsAreAHandfulOfWrites has five thousand pods become ready one by one within seconds. The
// first change is written at once, the last within a second, with a few writes in between.
func TestFiveThousandChangingPodsAreAHandfulOfWrites(t *testing.T) {
	t.Parallel()
	const pods = 5000
	g := NewWithT(t)
	var writes atomic.Int64
	r, hub := newReporter(t, interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		writes.Add(1)
		return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
	}}, work())
	r.clock = clock.RealClock{}
	r.queue = newQueue(r.clock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	defer func() { cancel(); <-done }()

	web := workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	began := time.Now()
	r.Report(work(), applied(), []workv1alpha1.ResourceIdentifier{web}, []*unstructured.Unstructured{rolling(0)}, nil)
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for ready := 1; ready <= pods; ready++ {
		if ready%2 == 0 {
			<-pace.C
		}
		r.Observe(self, rolling(ready))
	}
	g.Eventually(func(g Gomega) {
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(ctx, self, got)).To(Succeed())
		g.Expect(got.Status.ManifestStatuses).To(HaveLen(1))
		g.Expect(string(got.Status.ManifestStatuses[0].Status.Raw)).To(ContainSubstring(`"readyReplicas":5000`))
		g.Expect(got.Status.ReportTime).NotTo(BeNil())
		g.Expect(got.Status.ObservedGeneration).To(Equal(int64(1)))
	}).WithTimeout(time.Minute).Should(Succeed())
	took := time.Since(began)
	t.Logf("%d changes within %s were %d writes", pods, took.Round(time.Millisecond), writes.Load())
	// The free ones and those on the way to the longest delay, again after each pause of a machine that has other things
	// to do, and one a second.
	g.Expect(writes.Load()).To(BeNumerically("<=", (streamFree+6)*(1+int64(took/calm))+int64(took/lastDelay)+1))
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		inRow int
		since time.Duration
		want  time.Duration
	}{
		"the first change hardly waits":                  {0, time.Hour, firstDelay},
		"a second one soon after waits for more":         {0, 0, streamDelay},
		"one after a while does not":                     {3, streamFor, firstDelay},
		"what goes on is told at that pace for a while":  {streamFree - 1, 0, streamDelay},
		"and then more slowly":                           {streamFree, 0, 2 * streamDelay},
		"and more slowly, even after more than a second": {streamFree + 2, streamFor, 8 * streamDelay},
		"but not for ever":                               {streamFree + 1000, 0, lastDelay},
		"until it is calm":                               {streamFree + 1000, calm, firstDelay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(delay(tc.inRow, tc.since)).To(Equal(tc.want))
		})
	}
}
