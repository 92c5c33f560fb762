package execution

import (
	"context"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// TestAnObjectIsMadeAnewOnlyForWhatTheHubWantsNow checks that an object is deleted in order to be recreated only
// after a live read of the Work, and only if it is the object that was refused, and not another hub's.
func TestAnObjectIsMadeAnewOnlyForWhatTheHubWantsNow(t *testing.T) {
	t.Parallel()
	works := schema.GroupResource{Group: workv1alpha1.GroupVersion.Group, Resource: "works"}
	tests := map[string]struct {
		kept   bool
		change func(live *workv1alpha1.Work)
		hub    error
		member func(cm *corev1.ConfigMap)
		want   plan.Result
		why    string // it is not deleted
	}{
		"as it was seen":                {want: plan.Waiting},
		"by the journal":                {kept: true, want: plan.Waiting, why: "once the hub can be reached"},
		"another version of it":         {change: func(live *workv1alpha1.Work) { live.Generation++ }, want: plan.Waiting, why: "has another version of the Work"},
		"another one":                   {change: func(live *workv1alpha1.Work) { live.UID = "another" }, want: plan.Waiting, why: "has another Work of that name"},
		"it is deleted":                 {change: func(live *workv1alpha1.Work) { live.DeletionTimestamp = new(metav1.Now()) }, want: plan.Waiting, why: "the hub deletes Work"},
		"it is gone":                    {hub: apierrors.NewNotFound(works, "settings"), want: plan.Waiting, why: "has no Work"},
		"the hub does not let us":       {hub: apierrors.NewForbidden(works, "settings", nil), want: plan.Waiting, why: "does not confirm"},
		"the hub does not answer":       {hub: &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: context.DeadlineExceeded}, want: plan.Waiting, why: `"settings": the hub does not answer`},
		"another object by now":         {member: func(cm *corev1.ConfigMap) { cm.UID = "another" }, want: plan.Waiting, why: "another object has its place"},
		"nobody's by now":               {member: func(cm *corev1.ConfigMap) { cm.Labels = nil }, want: plan.Waiting, why: "another object has its place"},
		"another hub's, of that name":   {member: func(cm *corev1.ConfigMap) { cm.Labels[contract.WorkPermanentIDLabel] = "theirs" }, want: plan.Refused, why: "another Work of this name"},
		"ours, of a hub with other ids": {member: func(cm *corev1.ConfigMap) { delete(cm.Labels, contract.WorkPermanentIDLabel) }, want: plan.Waiting},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			manifest := inShop("settings", "", "")
			manifest.UID = ""
			manifest.Labels = map[string]string{contract.WorkPermanentIDLabel: "ours"}
			manifest.Annotations = map[string]string{contract.RecreateAnnotation: contract.LabelTrue}
			work := workWith(t, "settings", manifest)
			work.UID, work.Generation = "u", 2
			live := work.DeepCopy()
			if tc.change != nil {
				tc.change(live)
			}
			cm := inShop("settings", ownWorks, "settings")
			cm.Labels[contract.WorkPermanentIDLabel] = "ours"
			seen, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cm)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.member != nil {
				tc.member(cm)
			}
			times, member := 0, fakeClient(t, interceptor.Funcs{}, cm)
			r := &Reconciler{
				hubReader: asked(t, live, tc.hub, &times), memberClient: member, reader: member, memory: newMemory(),
				prerequisites: newPrerequisites(), pendingDeletions: newPendingDeletions(), metrics: newMetrics(prometheus.NewRegistry()),
				clock: clocktesting.NewFakeClock(time.Unix(100, 0)),
			}
			m := plan.Parse(work)[0]
			m.Kept = tc.kept
			result, message := r.replace(t.Context(), client.ObjectKeyFromObject(work), m, new(plan.Found(&unstructured.Unstructured{Object: seen})), "refused",
				func() error { return r.confirmWanted(t.Context(), work) })
			g.Expect(result).To(Equal(tc.want), message)
			g.Expect(message).To(ContainSubstring(tc.why))
			g.Expect(message).NotTo(ContainSubstring("10.0.0.1"))
			if tc.kept || tc.member != nil && tc.why != "" {
				g.Expect(times).To(Equal(0), "the hub is asked when the member allows it")
			} else {
				g.Expect(times).To(Equal(1))
			}
			left := &corev1.ConfigMapList{}
			g.Expect(member.List(t.Context(), left, client.InNamespace("shop"))).To(Succeed())
			if tc.why == "" {
				g.Expect(left.Items).To(BeEmpty())
			} else {
				g.Expect(left.Items).To(HaveLen(1))
			}
		})
	}
}
