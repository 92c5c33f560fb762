package kube_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
)

func TestWhatIsKeptOfARevisionIsRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rollout := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	main, err := revision.MakePart(revision.Source{Template: builder.MakeDeployment("shop", "web").Obj()})
	g.Expect(err).NotTo(HaveOccurred())
	kept := &revision.Kept{Content: revision.Content{Main: main}, Strategy: "shops"}
	secrets, err := revision.SecretsOf(rollout, 3, kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets).To(HaveLen(1))
	secret := secrets[0]
	hash, err := kept.Hash()
	g.Expect(err).NotTo(HaveOccurred())
	c := fake.NewClientBuilder().WithObjects(secret).Build()

	again, err := kube.ReadRevision(t.Context(), c, rollout, revision.ID{Number: 3, Hash: hash})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Strategy).To(Equal("shops"))
	g.Expect(again.Size).To(Equal(len(secret.Data[revision.SecretKey])))

	_, err = kube.ReadRevision(t.Context(), c, rollout, revision.ID{Number: 3, Hash: "other"})
	g.Expect(errors.Is(err, revision.ErrUnreadable) && errors.Is(err, revision.ErrMismatch)).To(BeTrue())
	_, err = kube.ReadRevision(t.Context(), c, rollout, revision.ID{Number: 2, Hash: hash})
	g.Expect(errors.Is(err, revision.ErrUnreadable) && apierrors.IsNotFound(err)).To(BeTrue())

	// Whoever may write Secrets in the application's namespace may write those of other types: these must not be
	// accepted.
	secret.Type, secret.ResourceVersion = corev1.SecretTypeOpaque, ""
	_, err = kube.ReadRevision(t.Context(), fake.NewClientBuilder().WithObjects(secret).Build(), rollout, revision.ID{Number: 3, Hash: hash})
	g.Expect(errors.Is(err, revision.ErrUnreadable)).To(BeTrue())
}

func TestRulesThatAreKeptElsewhereAreReadFromThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rollout := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", UID: "u-1"}}
	main, err := revision.MakePart(revision.Source{
		Template: builder.MakeDeployment("shop", "web").Obj(), Rules: []override.Rule{{Policy: "proxy"}, {Policy: "mine", Namespace: "shop"}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	kept := &revision.Kept{Content: revision.Content{Main: main}}
	hash, err := kept.Hash()
	g.Expect(err).NotTo(HaveOccurred())
	id := revision.ID{Number: 3, Hash: hash}
	secrets, err := revision.SecretsOf(rollout, 3, kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets).To(HaveLen(2))
	c := fake.NewClientBuilder().WithObjects(secrets[0], secrets[1]).Build()
	for _, read := range []func(context.Context, client.Reader, metav1.Object, revision.ID) (*revision.Kept, error){kube.ReadRevision, kube.ReadShownRevision} {
		again, err := read(t.Context(), c, rollout, id)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Unshown).To(BeFalse())
		g.Expect(again.Main.Rules).To(HaveLen(2))
	}

	// Without the right to read them ReadRevision fails, and ReadShownRevision returns the rest.
	refused := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if key.Namespace == contract.ClusterNamespace {
				return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, nil)
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	_, err = kube.ReadRevision(t.Context(), refused, rollout, id)
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	g.Expect(errors.Is(err, revision.ErrUnreadable)).To(BeFalse())
	shown, err := kube.ReadShownRevision(t.Context(), refused, rollout, id)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown.Unshown).To(BeTrue())
	g.Expect(shown.Main.Rules).To(Equal([]override.Rule{{Policy: "mine", Namespace: "shop"}}))

	// A rollout of that name with another UID does not find them, and a lost Secret makes the revision unreadable.
	other := rollout.DeepCopy()
	other.UID = "u-2"
	_, err = kube.ReadRevision(t.Context(), c, other, id)
	g.Expect(errors.Is(err, revision.ErrUnreadable)).To(BeTrue())
	g.Expect(c.Delete(t.Context(), secrets[0])).To(Succeed())
	for _, read := range []func(context.Context, client.Reader, metav1.Object, revision.ID) (*revision.Kept, error){kube.ReadRevision, kube.ReadShownRevision} {
		_, err = read(t.Context(), c, rollout, id)
		g.Expect(errors.Is(err, revision.ErrUnreadable) && apierrors.IsNotFound(err)).To(BeTrue())
		g.Expect(err).To(MatchError(ContainSubstring("there is no Secret karmada-cluster/rollout-rules-u-1-r3")))
	}
}
