package dependencies_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/stagetest"
)

// keeps creates a revision of a template, as the rollout stage does.
func (w *world) keeps(t *testing.T, rollout *fairleadv1alpha1.StagedRollout, number int64, template *unstructured.Unstructured) fairleadv1alpha1.RevisionStatus {
	t.Helper()
	g := NewWithT(t)
	content, err := revision.Make(revision.Source{Template: template})
	g.Expect(err).NotTo(HaveOccurred())
	hash, err := content.Hash()
	g.Expect(err).NotTo(HaveOccurred())
	secrets, err := revision.SecretsOf(rollout, number, &revision.Kept{Content: content})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets).To(HaveLen(1))
	w.create(t, secrets[0])
	return fairleadv1alpha1.RevisionStatus{Number: number, Hash: hash}
}

func TestDependenciesOfOldRevisionStay(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"))
	web, b := w.deployment(t, "web", "settings")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
	settings := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	rollout := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: b.Name}}
	w.create(t, rollout)
	says := func(stable int64, clusters []fairleadv1alpha1.ClusterGroup, revisions ...fairleadv1alpha1.RevisionStatus) {
		t.Helper()
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout)).To(Succeed())
		rollout.Status.Phase, rollout.Status.Stable, rollout.Status.Clusters = fairleadv1alpha1.RolloutCompleted, stable, clusters
		rollout.Status.Revisions = append(rollout.Status.Revisions, revisions...)
		g.Expect(w.hub.Status().Update(t.Context(), rollout)).To(Succeed())
	}
	says(1, nil, w.keeps(t, rollout, 1, web))

	// The template does not need it any more, but every cluster still has the revision that does.
	change(t, w, web, func(u *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedSlice(u.Object, nil, "spec", "template", "spec", "volumes")).To(Succeed())
	})
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = web.GetResourceVersion() })
	g.Eventually(func() string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return b.Annotations[contract.DependenciesAnnotation]
	}, stagetest.Timeout, stagetest.Poll).Should(Equal("[]"), "the record no longer names the object")
	g.Consistently(settings, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"))

	// A cluster that is set aside has the old revision.
	says(2, []fairleadv1alpha1.ClusterGroup{{State: fairleadv1alpha1.ClusterSetAside, Names: []string{"edge-1"}}}, w.keeps(t, rollout, 2, web))
	g.Consistently(settings, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"))

	// All clusters have the new revision.
	says(2, nil)
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(BeNil())
}

func TestRolloutUnderWayIsNotReadLive(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"), w.configMap("more"))
	web, b := w.deployment(t, "web", "settings")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
	settings := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	w.end()
	w.create(t, &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: b.Name}})
	w.edit(t, web, b, "more")

	read := w.behind(t, "/namespaces/"+w.namespace+"/stagedrollouts/"+b.Name, func(*cache.Options) {})
	g.Eventually(w.attached(t, w.namespace, "more-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Expect(settings()).To(HaveKey("web-deployment"))
	g.Expect(read.Load()).To(BeZero())
}

// TestDeletionOfDependencyIsNotStaged deletes an object that the revisions of all clusters need.
func TestDeletionOfDependencyIsNotStaged(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	settings := w.configMap("settings")
	w.create(t, settings)
	web, b := w.deployment(t, "web", "settings")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
	attached := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(attached, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	rollout := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: b.Name}}
	w.create(t, rollout)
	kept := w.keeps(t, rollout, 1, web)
	rollout.Status = fairleadv1alpha1.StagedRolloutStatus{
		Phase: fairleadv1alpha1.RolloutCompleted, Revision: 1, Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{kept},
	}
	g.Expect(w.hub.Status().Update(t.Context(), rollout)).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), settings)).To(Succeed())
	g.Eventually(attached, stagetest.Timeout, stagetest.Poll).Should(BeNil())
}
