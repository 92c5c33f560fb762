package install

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

// ErrKinds says that the kinds that an installed agent may apply cannot be determined.
var ErrKinds = errors.New("reading which kinds the installed agent may apply")

// Settings returns the settings of the installed agent; nil if there is none. Settings that cannot be read are an
// error, since a confined agent would otherwise be replaced by one that is not. Its kinds need not be known if they
// are given anew.
func (i *Installer) Settings(ctx context.Context, needKinds bool) (*manifest.Settings, error) {
	agent, err := i.deployment(ctx, manifest.Name)
	if agent == nil || err != nil {
		return nil, err
	}
	guard, err := i.deployment(ctx, manifest.GuardName)
	if err != nil {
		return nil, err
	}
	rules := func(namespaces []string) ([][]rbacv1.PolicyRule, error) { return i.rules(ctx, namespaces) }
	out, err := manifest.SettingsOf(agent, guard, rules, needKinds)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKinds, err)
	}
	return &out, nil
}

// rules returns the agent's RBAC rules for each of its namespaces that has a Role, or the cluster-wide ones.
func (i *Installer) rules(ctx context.Context, namespaces []string) ([][]rbacv1.PolicyRule, error) {
	if len(namespaces) == 0 {
		role := &rbacv1.ClusterRole{}
		if err := i.memberClient.Get(ctx, client.ObjectKey{Name: manifest.Name}, role); err != nil {
			return nil, fmt.Errorf("reading its ClusterRole %s: %w", manifest.Name, err)
		}
		return [][]rbacv1.PolicyRule{role.Rules}, nil
	}
	var out [][]rbacv1.PolicyRule
	var missing error
	for _, namespace := range namespaces {
		role := &rbacv1.Role{}
		err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: manifest.Name}, role)
		if err == nil {
			out = append(out, role.Rules)
			continue
		}
		missing = fmt.Errorf("reading its Role in namespace %q: %w", namespace, err)
		if !apierrors.IsNotFound(err) {
			return nil, missing
		}
	}
	if len(out) == 0 {
		return nil, missing
	}
	return out, nil
}

// deployment returns a Deployment of the agent; nil if it does not exist.
func (i *Installer) deployment(ctx context.Context, name string) (*appsv1.Deployment, error) {
	out := &appsv1.Deployment{}
	err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: name}, out)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // That there is none is an answer.
	case err != nil:
		return nil, fmt.Errorf("reading how the installed agent runs: %w", err)
	}
	return out, nil
}
