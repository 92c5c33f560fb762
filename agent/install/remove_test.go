package install

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

func TestARemovalThatIsStoppedCanBeginAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ours := map[string]string{manifest.NameLabel: manifest.Name}
	stopped := errors.New("stopped")
	stops := true
	i := &Installer{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name, Labels: ours}, Data: map[string][]byte{"agent.json": []byte("{}")}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name, Labels: ours}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: manifest.Name, Labels: ours}},
	).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if _, is := obj.(*corev1.ServiceAccount); is && stops {
				return stopped
			}
			return c.Delete(ctx, obj, opts...)
		},
	}).Build()}
	g.Expect(i.Remove(t.Context())).To(MatchError(stopped))
	g.Expect(i.State(t.Context())).NotTo(BeEmpty(), "the command needs it when it is run again")
	stops = false
	g.Expect(i.Remove(t.Context())).To(Succeed())
	g.Expect(i.State(t.Context())).To(BeEmpty())
}

// TestARemovalLeavesCopiesInOtherNamespaces covers somebody's copy of the agent's objects, with their labels.
func TestARemovalLeavesCopiesInOtherNamespaces(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := func(namespace string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: manifest.Name, Labels: map[string]string{manifest.NameLabel: manifest.Name}}
	}
	copies, rights := []client.Object{}, []client.Object{}
	for _, namespace := range []string{contract.SystemNamespace, "backup"} {
		copies = append(copies, &appsv1.Deployment{ObjectMeta: in(namespace)}, &corev1.ConfigMap{ObjectMeta: in(namespace)},
			&corev1.PersistentVolumeClaim{ObjectMeta: in(namespace)}, &networkingv1.NetworkPolicy{ObjectMeta: in(namespace)},
			&corev1.ServiceAccount{ObjectMeta: in(namespace)}, &corev1.Secret{ObjectMeta: in(namespace)})
		rights = append(rights, &rbacv1.Role{ObjectMeta: in(namespace)}, &rbacv1.RoleBinding{ObjectMeta: in(namespace)})
	}
	let := in("backup")
	let.Name = contract.ConnectName
	copies = append(copies, &corev1.ConfigMap{ObjectMeta: let})
	i := &Installer{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(copies, rights...)...).Build()}
	g.Expect(i.removeOperators(t.Context(), nil)).To(Succeed())
	g.Expect(i.Remove(t.Context())).To(Succeed())
	var left []string
	for _, obj := range append(copies, rights...) {
		if err := i.memberClient.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err == nil {
			left = append(left, fmt.Sprintf("%T %s", obj, obj.GetNamespace()))
		}
	}
	g.Expect(left).To(ConsistOf("*v1.Deployment backup", "*v1.ConfigMap backup", "*v1.PersistentVolumeClaim backup", "*v1.NetworkPolicy backup",
		"*v1.ServiceAccount backup", "*v1.Secret backup", "*v1.ConfigMap backup"))
}
