package cli

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/hub/people/view"
)

// namespaceFlags select the namespace of a command like those of kubectl: that of the context, unless they name
// another. A command that steers something must not act in another namespace than kubectl shows.
type namespaceFlags struct {
	name string
	all  bool
}

// add adds -n to a command; what is the noun for the objects in the help.
func (f *namespaceFlags) add(env Environment, cmd *cobra.Command, hub *hubFlags, what string) {
	cmd.Flags().StringVarP(&f.name, "namespace", "n", "", "namespace of the "+what+" (default: that of the context, or else default)")
	completeFlag(cmd, "namespace", completing(env, hub, namespaceNames))
}

// addAll adds -A to a command that lists.
func (f *namespaceFlags) addAll(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "list objects of all namespaces, and cluster-scoped ones")
}

// errAllOfOne is the same error as kubectl's.
var errAllOfOne = errors.New("an object cannot be named together with -A: leave out -A or the name")

// one returns the namespace of a single object.
func (f *namespaceFlags) one(o *opened) (string, error) {
	if f.all {
		return "", errAllOfOne
	}
	return cmp.Or(f.name, o.namespace, metav1.NamespaceDefault), nil
}

// scope returns the scope of a list.
func (f *namespaceFlags) scope(o *opened) view.Scope {
	if f.all {
		return view.Scope{}
	}
	return view.Scope{Namespace: cmp.Or(f.name, o.namespace, metav1.NamespaceDefault)}
}
