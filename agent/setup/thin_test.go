package setup_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// measureWorks counts the bytes between an agent and its hub for Works that are created one after the other while the
// agent watches.
func measureWorks(t *testing.T, name string, compress setup.Compression) int64 {
	t.Helper()
	g, w := NewWithT(t), newJoined(t, name)
	hub, err := url.Parse(w.config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	l := newWire(t, hub.Host)
	w.place(t)
	w.run(t, func(o *setup.Options) {
		o.Hub = rest.CopyConfig(w.config)
		o.Hub.Host = "https://" + l.address
		o.Compress = compress
		o.StatusFrequency, o.LeaseDuration = setup.DefaultStatusFrequency, setup.DefaultLeaseDuration
	})
	propagate := func(i int) {
		name, text := fmt.Sprintf("settings-%d", i), strings.Repeat(fmt.Sprint(i), 1000)
		manifest := w.configMap(name)
		manifest["data"] = map[string]any{"text": text}
		work := w.work(t, name, manifest)
		// No other event comes that could bring this one with it.
		g.Eventually(func(g Gomega) bool {
			return meta.IsStatusConditionTrue(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)
		}).WithTimeout(waitTimeout).WithPolling(10 * time.Millisecond).Should(BeTrue())
		g.Expect(w.data(name)["text"] == text).To(BeTrue(), "it is another")
	}
	propagate(0) // once the agent is there
	before := l.bytes.Load()
	for i := range 30 {
		propagate(i + 1)
	}
	return l.bytes.Load() - before
}

// TestAnAgentThatAsksForItHasItsHubCompress is not parallel: changes by other tests in the shared member would be
// reported over the line, too.
func TestAnAgentThatAsksForItHasItsHubCompress(t *testing.T) {
	g := NewWithT(t)
	plain := measureWorks(t, "plain", setup.CompressNever)
	thin := measureWorks(t, "thin", setup.CompressAlways)
	t.Logf("%d bytes, compressed %d", plain, thin)
	g.Expect(thin).To(BeNumerically("<", plain*6/10))
}

func TestTheHubAnswersAWriteWithItsVersionWhereThatIsPreferred(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "brief")
	w.place(t)
	work := w.work(t, "settings", w.configMap("settings"))
	for _, prefers := range []string{"", "return=minimal"} {
		hub, err := client.New(w.preferring(prefers), client.Options{Scheme: w.client.Scheme()})
		g.Expect(err).NotTo(HaveOccurred())
		answer := &metav1.PartialObjectMetadata{}
		answer.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("Work"))
		answer.SetNamespace(work.Namespace)
		answer.SetName(work.Name)
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, len(prefers)+1))
		g.Expect(hub.Status().Patch(t.Context(), answer, patch)).To(Succeed())
		g.Expect(answer.ResourceVersion).To(Equal(w.read(g, work).ResourceVersion))
		if prefers == "" {
			g.Expect(answer.Name).To(Equal(work.Name), "who says nothing gets all")
		} else {
			g.Expect(answer.ObjectMeta).To(Equal(metav1.ObjectMeta{UID: answer.UID, ResourceVersion: answer.ResourceVersion, Generation: 1}))
		}
	}
}

// preferring returns a configuration of the hub that sends a Prefer header with each request.
func (w *world) preferring(what string) *rest.Config {
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			request = request.Clone(request.Context())
			request.Header.Set("Prefer", what)
			return next.RoundTrip(request)
		})
	})
	return config
}

func TestAWorkThatWasReportedComesBackWithoutItsManifestsWhereThatIsPreferred(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "echo")
	w.place(t)
	work := w.work(t, "settings", w.configMap("settings"))
	events := map[string]watch.Interface{}
	for _, prefers := range []string{"", "observed-spec=omit"} {
		hub, err := client.NewWithWatch(w.preferring(prefers), client.Options{Scheme: w.client.Scheme()})
		g.Expect(err).NotTo(HaveOccurred())
		from := &client.ListOptions{Namespace: work.Namespace, Raw: &metav1.ListOptions{ResourceVersion: work.ResourceVersion}}
		if events[prefers], err = hub.Watch(t.Context(), &workv1alpha1.WorkList{}, from); err != nil {
			t.Fatal(err)
		}
		defer events[prefers].Stop()
	}
	next := func(prefers string) *workv1alpha1.Work {
		event := <-events[prefers].ResultChan()
		g.Expect(event.Type).To(Equal(watch.Modified))
		out, _ := event.Object.(*workv1alpha1.Work)
		return out
	}
	report := func(generation int64) {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, generation))
		g.Expect(w.client.Status().Patch(t.Context(), work.DeepCopy(), patch)).To(Succeed())
	}
	report(1)
	g.Expect(next("").Spec.Workload.Manifests).To(HaveLen(1))
	back := next("observed-spec=omit")
	g.Expect(back.Spec.Workload.Manifests).To(BeEmpty())
	g.Expect(back.Status.ObservedGeneration).To(Equal(int64(1)))

	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspendDispatching":true}}`))
	g.Expect(w.client.Patch(t.Context(), work.DeepCopy(), patch)).To(Succeed())
	g.Expect(next("observed-spec=omit").Spec.Workload.Manifests).To(HaveLen(1), "nobody has reported this generation")
	report(2)
	g.Expect(next("observed-spec=omit").Spec.Workload.Manifests).To(BeEmpty())
}
