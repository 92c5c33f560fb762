package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAJobOfAWorkMadeByHandStaysWhenItHasEnded covers ttlSecondsAfterFinished, which the hub prunes and a Work made
// by hand may have: the Job would delete itself and be recreated for ever.
func TestAJobOfAWorkMadeByHandStaysWhenItHasEnded(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "once"},
		Spec: batchv1.JobSpec{
			TTLSecondsAfterFinished: new(int32(1)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "registry.example/once"}},
			}},
		},
	}
	w.isApplied(t, w.work(t, "once", job))
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(job), live)).To(Succeed())
	g.Expect(live.Object["spec"]).To(And(HaveKey("template"), Not(HaveKey("ttlSecondsAfterFinished"))))
}
