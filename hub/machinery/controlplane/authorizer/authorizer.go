package authorizer

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/union"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// bySubject is the name of the index.
const bySubject = "subject"

// New returns an authorizer that allows what RBAC allows, and passes everything else to next. The informers must not
// have been started yet.
func New(rights rbacinformers.Interface, next authorizer.Authorizer) (authorizer.Authorizer, error) {
	for _, informer := range []cache.SharedIndexInformer{rights.RoleBindings().Informer(), rights.ClusterRoleBindings().Informer()} {
		if err := informer.AddIndexers(cache.Indexers{bySubject: subjectsOf}); err != nil {
			return nil, fmt.Errorf("indexing role bindings by their subjects: %w", err)
		}
	}
	inNamespace := bindings[*rbacv1.RoleBinding]{rights.RoleBindings().Informer().GetIndexer()}
	ofCluster := bindings[*rbacv1.ClusterRoleBinding]{rights.ClusterRoleBindings().Informer().GetIndexer()}
	own := rbac.New(
		&rbac.RoleGetter{Lister: rights.Roles().Lister()}, roleBindings{inNamespace},
		&rbac.ClusterRoleGetter{Lister: rights.ClusterRoles().Lister()}, clusterRoleBindings{ofCluster},
	)
	return union.New(subjectAuthorizer{own}, next), nil
}

// subjectAuthorizer puts the user into the context, since the binding listers do not get it otherwise.
type subjectAuthorizer struct{ next authorizer.Authorizer }

type userKey struct{}

// Authorize implements authorizer.Authorizer.
func (a subjectAuthorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	return a.next.Authorize(context.WithValue(ctx, userKey{}, attributes.GetUser()), attributes) //nolint:wrapcheck // It is the delegate's answer.
}

// bindings are the bindings of one kind, indexed by subject.
type bindings[T any] struct{ indexer cache.Indexer }

// of returns the bindings in a namespace, or cluster-scoped ones, that name the user in the context. One may occur
// twice.
func (b bindings[T]) of(ctx context.Context, namespace string) ([]T, error) {
	who, _ := ctx.Value(userKey{}).(user.Info)
	if who == nil {
		return nil, nil
	}
	var out []T
	for _, key := range keysOf(who) {
		found, err := b.indexer.ByIndex(bySubject, namespace+"/"+key)
		if err != nil {
			return nil, fmt.Errorf("looking for the bindings of %q: %w", who.GetName(), err)
		}
		for _, obj := range found {
			if binding, ok := obj.(T); ok {
				out = append(out, binding)
			}
		}
	}
	return out, nil
}

type roleBindings struct{ bindings[*rbacv1.RoleBinding] }

// ListRoleBindings implements validation.RoleBindingLister.
func (b roleBindings) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return b.of(ctx, namespace)
}

type clusterRoleBindings struct {
	bindings[*rbacv1.ClusterRoleBinding]
}

// ListClusterRoleBindings implements validation.ClusterRoleBindingLister.
func (b clusterRoleBindings) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return b.of(ctx, "")
}

// keysOf returns all keys under which a binding may name a user.
func keysOf(who user.Info) []string {
	out := make([]string, 0, len(who.GetGroups())+2)
	out = append(out, key(rbacv1.UserKind, who.GetName()))
	if namespace, name, err := serviceaccount.SplitUsername(who.GetName()); err == nil {
		out = append(out, key(rbacv1.ServiceAccountKind, namespace+"/"+name))
	}
	for _, group := range who.GetGroups() {
		out = append(out, key(rbacv1.GroupKind, group))
	}
	return out
}

// subjectsOf returns the index keys of a binding: its namespace with each subject. A service account without a
// namespace is in that of the binding.
func subjectsOf(obj any) ([]string, error) {
	var namespace string
	var subjects []rbacv1.Subject
	switch b := obj.(type) {
	case *rbacv1.RoleBinding:
		namespace, subjects = b.Namespace, b.Subjects
	case *rbacv1.ClusterRoleBinding:
		subjects = b.Subjects
	}
	out := make([]string, 0, len(subjects))
	for _, s := range subjects {
		name := s.Name
		if s.Kind == rbacv1.ServiceAccountKind {
			of := s.Namespace
			if of == "" {
				of = namespace
			}
			name = of + "/" + name
		}
		out = append(out, namespace+"/"+key(s.Kind, name))
	}
	return out, nil
}

func key(kind, name string) string { return kind + "/" + name }
