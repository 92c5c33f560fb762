package execution_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func (w *world) frozen(value string, annotations map[string]string) *corev1.ConfigMap {
	cm := w.configMap("settings", map[string]string{"a": value})
	cm.Immutable, cm.Annotations = new(true), annotations
	return cm
}

// toBeMadeAnew returns the annotations of a template whose object may be recreated.
func toBeMadeAnew() map[string]string {
	return map[string]string{contract.RecreateAnnotation: contract.LabelTrue}
}

// changeFrozen applies an immutable ConfigMap whose template allows it to be recreated, then changes the template. It
// returns the Work and the first ConfigMap.
func (w *world) changeFrozen(t *testing.T) (*workv1alpha1.Work, *corev1.ConfigMap) {
	t.Helper()
	work := w.work(t, "settings", w.frozen("1", toBeMadeAnew()))
	w.isApplied(t, work)
	first := w.get(NewWithT(t), "settings")
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, w.frozen("2", toBeMadeAnew())) })
	return work, first
}

func TestAFieldThatCannotChangeIsToldWithWhatToDo(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.frozen("1", nil))
	w.isApplied(t, work)
	first := w.get(g, "settings")
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, w.frozen("2", nil)) })
	g.Expect(w.isNotApplied(t, work)).To(And(ContainSubstring("the member refuses it"), ContainSubstring("immutable"), ContainSubstring(contract.RecreateAnnotation)))
	g.Expect(w.get(g, "settings").UID).To(Equal(first.UID))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
}

func TestAnObjectIsMadeAnewOnceIfItsTemplateAsksForIt(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work, first := w.changeFrozen(t)
	g.Eventually(func(g Gomega) {
		cm := w.get(g, "settings")
		g.Expect(cm.UID).NotTo(Equal(first.UID))
		g.Expect(cm.Data).To(HaveKeyWithValue("a", "2"))
	}).WithTimeout(waitTimeout).Should(Succeed())
	w.isApplied(t, work)
	g.Expect(w.requests.about("DELETE")).To(ConsistOf(And(ContainSubstring("/configmaps/settings"), ContainSubstring(string(first.UID)))))
}

// creating changes what the agent creates, as a mutating webhook of the member can.
func creating(config *rest.Config, before, after string) *rest.Config {
	return stagetest.Intercept(config, func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPatch || r.Body == nil {
			return nil, nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(body, []byte(`"uid":`)) { // it makes an object, as it names none
			body = bytes.ReplaceAll(body, []byte(before), []byte(after))
			r.ContentLength = int64(len(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return nil, nil
	})
}

// TestAnObjectIsMadeAnewOnceThoughTheAgentRestarts has the member mutate what it creates, so that the recreated
// object differs from the manifest and is refused as well. A restarted agent must not recreate it again.
func TestAnObjectIsMadeAnewOnceThoughTheAgentRestarts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := unstarted(t)
	member := creating(c.Config, `"a":"2"`, `"a":"3"`)
	stop := w.startBetween(t, c.Config, member, native.New())
	work, first := w.changeFrozen(t)
	g.Eventually(func(g Gomega) {
		cm := w.get(g, "settings")
		g.Expect(cm.UID).NotTo(Equal(first.UID))
		g.Expect(cm.Data).To(HaveKeyWithValue("a", "3"))
	}).WithTimeout(waitTimeout).Should(Succeed())
	w.isApplied(t, work)
	second := w.get(g, "settings")
	g.Expect(second.Annotations).To(HaveKey(contract.RecreatedForAnnotation))

	for range 2 {
		stop()
		w.reports = newReports()
		stop = w.startBetween(t, c.Config, member, native.New())
		g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("was already replaced for this manifest"))
		g.Expect(w.get(g, "settings").UID).To(Equal(second.UID))
	}
	g.Expect(w.requests.about("DELETE")).To(HaveLen(1))

	// For a changed manifest it is recreated again, and the annotation says for which.
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, w.frozen("4", toBeMadeAnew())) })
	g.Eventually(func(g Gomega) {
		cm := w.get(g, "settings")
		g.Expect(cm.UID).NotTo(Equal(second.UID))
		g.Expect(cm.Annotations[contract.RecreatedForAnnotation]).NotTo(Equal(second.Annotations[contract.RecreatedForAnnotation]))
	}).WithTimeout(waitTimeout).Should(Succeed())
}

// TestAnObjectIsMadeAnewThoughItsDeletionIsNotAnswered checks that a delete without an answer is retried, whether it
// took effect or not.
func TestAnObjectIsMadeAnewThoughItsDeletionIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, carriedOut := range map[string]bool{"and is not carried out": false, "and is carried out": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isMadeAnewUnanswered(t, carriedOut)
		})
	}
}

func isMadeAnewUnanswered(t *testing.T, carriedOut bool) {
	t.Helper()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := unstarted(t)
	unanswered := &atomic.Bool{}
	w.startBetween(t, c.Config, stagetest.Intercept(c.Config, func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodDelete || !unanswered.CompareAndSwap(false, true) {
			return nil, nil
		}
		if carriedOut {
			if err := w.client.Delete(r.Context(), w.configMap("settings", nil)); err != nil {
				return nil, err
			}
		}
		return nil, errors.New("the member does not answer")
	}), native.New())
	w.changeFrozen(t)
	g.Eventually(func(g Gomega) {
		cm := w.get(g, "settings")
		g.Expect(cm.Data).To(HaveKeyWithValue("a", "2"))
		g.Expect(cm.Annotations).To(HaveKey(contract.RecreatedForAnnotation))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(unanswered.Load()).To(BeTrue())
}

func TestTheTemplateSaysWhatBecomesOfDependents(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := w.configMap("settings", nil)
	manifest.Annotations = map[string]string{contract.DeletionPropagationAnnotation: "foreground"}
	work := w.work(t, "settings", manifest, w.configMap("usual", nil))
	w.isApplied(t, work)
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Expect(w.requests.about("DELETE")).To(ConsistOf(
		And(ContainSubstring("/configmaps/settings"), ContainSubstring(`"propagationPolicy":"Foreground"`), ContainSubstring(`"uid"`)),
		And(ContainSubstring("/configmaps/usual"), ContainSubstring(`"propagationPolicy":"Background"`), ContainSubstring(`"uid"`))))
}

func TestAnObjectThatDoesNotGoIsTold(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", nil))
	w.isApplied(t, work)
	cm := w.get(g, "settings")
	before := cm.DeepCopy()
	cm.Finalizers = []string{"shop.example.com/held"}
	g.Expect(w.client.Patch(t.Context(), cm, client.MergeFrom(before))).To(Succeed())
	// The agent has seen the finalizer before it deletes.
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "settings").Finalizers).To(HaveLen(1)) }).Should(Succeed())
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(
		HavePrefix("DeletionStuck: ConfigMap "+w.member+"/settings "), ContainSubstring("(shop.example.com/held)"))))
	g.Consistently(w.events.all).WithTimeout(2*time.Second).Should(HaveLen(1), "it is told once")

	// A Work that wants the object again waits until it is gone, and reports what holds it.
	again := w.work(t, "settings", w.configMap("settings", nil))
	g.Expect(w.isNotApplied(t, again)).To(ContainSubstring("its finalizers hold it: shop.example.com/held"))
	cm = w.get(g, "settings")
	before = cm.DeepCopy()
	cm.Finalizers = nil
	g.Expect(w.client.Patch(t.Context(), cm, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func(g Gomega) {
		found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "settings"}}
		g.Expect(w.client.Get(context.Background(), client.ObjectKeyFromObject(found), found)).To(Succeed())
		g.Expect(found.UID).NotTo(Equal(cm.UID))
	}).WithTimeout(waitTimeout).Should(Succeed())
	w.isApplied(t, again)
}
