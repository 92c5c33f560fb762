package install

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/test/builder"
)

// decoded returns the object of a kind in a file below manifests/install.
func decoded[T any](t *testing.T, kind string, names ...string) *T {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(file(t, names...))
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := builder.Objects(string(text))
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objects {
		if obj.GetKind() == kind {
			out := new(T)
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, out, true)).To(Succeed())
			return out
		}
	}
	t.Fatalf("%v has no %s", names, kind)
	return nil
}

// TestAHubIsRestoredWhereItLooks checks that the restore pod uses the volume that the chart creates for the hub, the
// hub's user, and its programs.
func TestAHubIsRestoredWhereItLooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := decoded[appsv1.StatefulSet](t, "StatefulSet", "hub", "embedded.yaml")
	claim := decoded[corev1.PersistentVolumeClaim](t, "PersistentVolumeClaim", "hub", "restore.yaml")
	pod := decoded[corev1.Pod](t, "Pod", "hub", "restore.yaml")
	template, of := hub.Spec.VolumeClaimTemplates[0], hub.Spec.Template.Spec

	g.Expect(claim.Name).To(Equal(template.Name + "-" + hub.Name + "-0"))
	g.Expect(claim.Namespace).To(Equal(hub.Namespace))
	g.Expect(claim.Spec).To(BeComparableTo(template.Spec))
	g.Expect(pod.Namespace).To(Equal(hub.Namespace))
	g.Expect(pod.Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim", HaveValue(HaveField("ClaimName", claim.Name)))))
	g.Expect(pod.Spec.Containers[0].Image).To(Equal(of.Containers[0].Image))
	g.Expect(pod.Spec.Containers[0].VolumeMounts).To(ContainElement(of.Containers[0].VolumeMounts[0]))
	g.Expect(pod.Spec.Containers[0].Args).To(ContainElement(of.Containers[0].Args[1]), "the data directory")
	g.Expect(pod.Spec.Containers[0].SecurityContext).To(BeComparableTo(of.Containers[0].SecurityContext))
	g.Expect(pod.Spec.SecurityContext.RunAsUser).To(Equal(of.SecurityContext.RunAsUser))
	g.Expect(pod.Spec.SecurityContext.FSGroup).To(Equal(of.SecurityContext.FSGroup))
}
