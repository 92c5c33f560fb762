package apiserver

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
)

// defaultsPatience is how long Install waits for the mutating admission policies.
const defaultsPatience = 30 * time.Second

// defaults returns when the mutating admission policies are in force. Until the API server
// has both such a policy and the schema of what it changes, which comes a moment later, it
// refuses people's policies as unavailable. The hub works without them, so that an API
// server that never gets there is a line in the log.
func (i *installer) defaults(ctx context.Context) error {
	if !i.mutates {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, defaultsPatience)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(waiting, installPoll, true, func(ctx context.Context) (bool, error) {
		probe := &policyv1alpha1.PropagationPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: "fairlead-probe"},
			Spec: policyv1alpha1.PropagationSpec{
				ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Secret"}},
			},
		}
		last = i.hubClient.Create(ctx, probe, client.DryRunAll, client.FieldOwner(contract.FieldManagerInstall))
		inForce := last == nil && probe.Spec.ResourceSelectors[0].Namespace != ""
		return inForce || apierrors.IsForbidden(last), nil
	})
	if err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Info("The API server does not apply the defaults of policies yet", "after", defaultsPatience.String(), "reason", last)
	}
	return ctx.Err()
}
