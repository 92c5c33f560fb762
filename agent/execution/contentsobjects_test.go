package execution

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

const ownWorks = "karmada-es-edge"

// namespaceOf is a Namespace with the marks of the Work "around".
func namespaceOf() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "shop", Labels: marks(), Annotations: markedBy(ownWorks, "around")},
	}
}

func marks() map[string]string { return map[string]string{contract.ManagedLabel: contract.LabelTrue} }

func markedBy(namespace, work string) map[string]string {
	return map[string]string{contract.WorkNamespaceAnnotation: namespace, contract.WorkNameAnnotation: work}
}

// inShop is a ConfigMap in that Namespace. Without a Work it belongs to somebody else.
func inShop(name, namespaceOfWork, work string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
	}
	if work != "" {
		cm.Labels, cm.Annotations = marks(), markedBy(namespaceOfWork, work)
	}
	return cm
}

// labelled is a ConfigMap in it that has our label alone.
func labelled(name string) *corev1.ConfigMap {
	cm := inShop(name, "", "")
	cm.Labels = marks()
	return cm
}

// going returns an object that is being deleted and held by a finalizer.
func going[T client.Object](object T) T {
	object.SetDeletionTimestamp(new(metav1.Unix(0, 0)))
	object.SetFinalizers([]string{"example.com/held"})
	return object
}

// lettingGo is an object that is being deleted and orphans its dependents.
func lettingGo() client.Object {
	object := going(inShop("ours", ownWorks, "ended"))
	object.SetFinalizers([]string{metav1.FinalizerOrphanDependents})
	return object
}

// ownedBy is a ConfigMap in it that is made from another object.
func ownedBy(apiVersion, kind, name string) *corev1.ConfigMap {
	return madeFrom(inShop("made", "", ""), apiVersion, kind, name)
}

func madeFrom(cm *corev1.ConfigMap, apiVersion, kind, name string) *corev1.ConfigMap {
	cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name)}}
	return cm
}

// node is an object in no namespace.
func node(labels, annotations map[string]string) *corev1.Node {
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Labels: labels, Annotations: annotations},
	}
}

// workWith is a Work of the hub that has an object.
func workWith(t *testing.T, name string, object client.Object) *workv1alpha1.Work {
	t.Helper()
	raw, err := json.Marshal(object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: ownWorks, Name: name}}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
	return work
}
