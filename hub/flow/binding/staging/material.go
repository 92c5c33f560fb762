package staging

import (
	"errors"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
)

// Material is what a Work is rendered from, for any cluster. It must not be modified.
type Material struct {
	Template  *unstructured.Unstructured
	Overrides override.Plan
	// Live says that the content is the present one on the hub.
	Live bool
}

// MaterialOf returns the material for the part of a revision, given the present template and its part. If both have the same content, the
// present one is used, which has the exact generation. Otherwise the content is the revision's, and the present state only determines who
// sets the replicas. Scaling is the present revision.Source.Revise.
func MaterialOf(kept, now revision.Part, template *unstructured.Unstructured, scaling revision.Revise) (Material, error) {
	if kept.Scaled && scaling == nil {
		return Material{}, errors.New("no rule says any more how its replicas are set; edit the template, so that a revision is made of its current state")
	}
	same, err := kept.Same(now, scaling)
	if err != nil {
		return Material{}, err
	}
	if same {
		kept = now
	}
	out := Material{Template: kept.Template(), Overrides: override.Of(kept.Rules), Live: same}
	if value, ok := template.GetLabels()[contract.RetainReplicasLabel]; ok {
		labels := out.Template.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[contract.RetainReplicasLabel] = value
		out.Template.SetLabels(labels)
	}
	return out, nil
}

// For returns the template for a cluster with an existing Work, or nil. If the Work has that content already and the hub has a newer one,
// the template gets the generation that the Work records, since scaling may have raised it after the revision was made.
func (m Material) For(own *workv1alpha1.Work, id revision.ID, rollout string) *unstructured.Unstructured {
	if m.Live || own == nil || RevisionOf(own, rollout).Hash != id.Hash {
		return m.Template
	}
	generation, err := strconv.ParseInt(own.Annotations[contract.RevisionGenerationAnnotation], 10, 64)
	if err != nil || generation == m.Template.GetGeneration() {
		return m.Template
	}
	out := &unstructured.Unstructured{Object: maps.Clone(m.Template.Object)}
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		out.Object["metadata"] = maps.Clone(metadata)
	}
	out.SetGeneration(generation)
	return out
}

// RevisionOf returns the revision of a rollout that a Work has; none if there is no Work, or if it has no revision, or one of another
// rollout.
func RevisionOf(w *workv1alpha1.Work, rollout string) revision.ID {
	if w == nil || w.Annotations[contract.RevisionOfAnnotation] != rollout {
		return revision.ID{}
	}
	return revision.Parse(w.Annotations[contract.RevisionAnnotation])
}
