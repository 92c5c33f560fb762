package kube_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
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
	secret, err := revision.SecretOf(rollout, 3, kept)
	g.Expect(err).NotTo(HaveOccurred())
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
}
