package execution

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"fairlead.dev/agent/execution/plan"
)

// outsideError says that an object is outside the namespaces to which the agent is confined: it is neither read nor
// written, whatever rights the agent has.
type outsideError struct {
	object     plan.Object
	namespaces []string
}

// Error implements error.
func (e *outsideError) Error() string {
	where := "in no namespace"
	if e.object.Namespace != "" {
		where = fmt.Sprintf("in namespace %q", e.object.Namespace)
	}
	return fmt.Sprintf("%s is not applied in the member: it is %s, and the owner of the member confined the agent to %s (--namespaces); "+
		"send it to other clusters, or ask the owner to change that", e.object, where, strings.Join(e.namespaces, ", "))
}

// outside returns an outsideError for an object outside the namespaces to which the agent is confined. Cluster-scoped
// objects always are: with a ClusterRoleBinding, a compromised hub could escape the confinement.
func (r *Reconciler) outside(object plan.Object) error {
	if len(r.namespaces) == 0 || slices.Contains(r.namespaces, object.Namespace) {
		return nil
	}
	return &outsideError{object: object, namespaces: r.namespaces}
}

// isOutside returns whether all objects of a kind are outside the namespaces to which the agent is confined.
func (r *Reconciler) isOutside(kind plan.Object) bool {
	if len(r.namespaces) == 0 {
		return false
	}
	mapping, err := r.memberClient.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
}
