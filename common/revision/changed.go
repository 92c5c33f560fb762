package revision

import (
	"encoding/json"
	"fmt"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/override"
)

// Changed returns whether a cluster gets something else from one content than from another: not if they differ only
// in override rules for other clusters. If the new content cannot be rendered for the cluster, because an override
// fails, it counts as changed.
func Changed(from, to Content, cluster *clusterv1alpha1.Cluster) bool {
	before, errBefore := from.in(cluster)
	after, errAfter := to.in(cluster)
	if errBefore != nil || errAfter != nil || len(before) != len(after) {
		return true
	}
	for ref, object := range after {
		if have, ok := before[ref]; !ok || have != object {
			return true
		}
	}
	return false
}

// in returns what a cluster gets of a content.
func (c Content) in(cluster *clusterv1alpha1.Cluster) (map[Ref]string, error) {
	out := make(map[Ref]string, 1+len(c.Dependents))
	for _, p := range append([]Part{c.Main}, c.Dependents...) {
		got, err := override.Of(p.Rules).Apply(p.Object.DeepCopy(), cluster)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(got.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", named(p.Object), err)
		}
		out[p.Ref()] = string(data)
	}
	return out, nil
}
