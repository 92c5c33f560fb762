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

// Material is what a Work is rendered from, for any cluster. It is not to be changed.
type Material struct {
	Template  *unstructured.Unstructured
	Overrides override.Plan
	// Live says that the content is the one that is on the hub now.
	Live bool
}

// MaterialOf returns that of a part that a rollout gives, of a template as it is on the hub now, which
// gives the part now. If both have the same content, the one of now is taken, which says more exactly
// which generation it is of; else it is what was kept, and nothing of what is on the hub now but who has
// the say over replicas. Scaling is the revision.Source.Revise of now.
func MaterialOf(kept, now revision.Part, template *unstructured.Unstructured, scaling revision.Revise) (Material, error) {
	if kept.Scaled && scaling == nil {
		return Material{}, errors.New("nothing tells any more how its replicas are set; edit the template, so that there is a revision of how it is now")
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

// For returns the template for a cluster with a Work, nil if it has none. If the Work has that content
// already, and the hub has moved on, it is of the generation of which the Work says that it is: scaling
// may have raised that since the revision was made.
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

// RevisionOf returns the revision that a Work has of a rollout; none if it has none, or one of another
// rollout, or if there is no Work.
func RevisionOf(w *workv1alpha1.Work, rollout string) revision.ID {
	if w == nil || w.Annotations[contract.RevisionOfAnnotation] != rollout {
		return revision.ID{}
	}
	return revision.Parse(w.Annotations[contract.RevisionAnnotation])
}
