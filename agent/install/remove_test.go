package install

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
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
