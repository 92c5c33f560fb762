package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Origin is what the Works of a binding are rendered from, by what tells one from another: as long as none of it
// changes, the same is rendered.
type Origin struct {
	// Program is the program that renders.
	Program string
	// Template is the fingerprint of the template, as bindings.Fingerprint makes it, and Rules the version of the
	// rules of its kind.
	Template, Rules string
	// Binding is what was decided for it.
	Binding workv1alpha2.Binding
	// Overrides name the override policies that may be about the template, each with its generation.
	Overrides []string
}

// Digest is a hash of an origin.
type Digest struct {
	sum string
	// overridden says that there are override policies, to which clusters are not alike.
	overridden bool
}

// Digest returns the hash of what is the same for all clusters.
func (o Origin) Digest() (Digest, error) {
	spec := *o.Binding.BindingSpec()
	targets := bindings.Targets(&spec)
	spec.Clusters = nil
	id := o.Binding.GetLabels()[bindings.IDLabel(o.Binding.GetNamespace())]
	text, err := json.Marshal([]any{
		o.Program, o.Template, o.Rules, o.Overrides, id, o.Binding.GetNamespace(), o.Binding.GetName(), spec, targets,
	})
	if err != nil {
		return Digest{}, fmt.Errorf("encoding what binding %q says: %w", o.Binding.GetName(), err)
	}
	sum := sha256.Sum256(text)
	return Digest{sum: hex.EncodeToString(sum[:]), overridden: len(o.Overrides) > 0}, nil
}

// Of returns what contract.RenderedFromAnnotation says on a Work of a cluster. It covers the labels and annotations of
// the Work, so that it holds of no Work on which somebody changed one. Nothing is changed.
func (d Digest) Of(work *workv1alpha1.Work, cluster *clusterv1alpha1.Cluster) string {
	h := sha256.New()
	line := func(values ...any) {
		_, _ = fmt.Fprintf(h, "%q\n", values) // a hash never fails
	}
	line(d.sum, work.Namespace, work.Name)
	if d.overridden {
		line(cluster.Name, cluster.Spec.Provider, cluster.Spec.Region, cluster.Spec.Zone, cluster.Spec.Zones)
		lines(line, cluster.Labels)
	}
	lines(line, work.Labels)
	annotations := maps.Clone(work.Annotations)
	delete(annotations, contract.RenderedFromAnnotation)
	lines(line, annotations)
	return hex.EncodeToString(h.Sum(nil)[:10])
}

func lines(line func(...any), set map[string]string) {
	line("keys", len(set))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		line(key, set[key])
	}
}
