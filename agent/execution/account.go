package execution

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
)

// judge classifies the error of a request about an object. If the agent makes such requests as ServiceAccounts of the
// member and the account lacks a right, the message says how to grant it.
func (r *Reconciler) judge(ctx context.Context, work types.NamespacedName, object plan.Object, err error) (plan.Result, string) {
	result, message := classify(object, err)
	if result != plan.Refused || r.account == "" || object.Namespace == "" {
		return result, message
	}
	denial, ok := denialOf(err)
	if !ok {
		return result, message
	}
	// An account without rights gets Forbidden even if the namespace is missing, in which case nobody could have
	// granted any.
	of := need{namespace: object.Namespace}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if apierrors.IsNotFound(r.reader.Get(ctx, client.ObjectKey{Name: object.Namespace}, namespace)) {
		r.prerequisites.Missing(of, work, r.clock.Now())
		return plan.Waiting, missingNamespace(object)
	}
	r.wake(r.prerequisites.Met(of))
	return result, message + "; " + denial.advice(object, r.account)
}

// denial is a request that the member's authorization refused, as opposed to its admission.
type denial struct {
	resource schema.GroupResource
	// impersonation says that acting as the account was refused.
	impersonation bool
}

// denialOf returns the denial behind an error. The API has no code that tells it from what admission forbids; the
// words checked here are the API server's own, whatever its authorizer.
func denialOf(err error) (denial, bool) {
	status, ok := statusOf(err)
	if !ok || !apierrors.IsForbidden(err) || status.Details == nil {
		return denial{}, false
	}
	const impersonate = `" cannot impersonate `
	user := strings.Index(status.Message, `User "`)
	if user < 0 || !strings.Contains(status.Message[user:], `" cannot `) {
		return denial{}, false
	}
	return denial{
		resource:      schema.GroupResource{Group: status.Details.Group, Resource: status.Details.Kind},
		impersonation: strings.Contains(status.Message[user:], impersonate),
	}, true
}

// advice returns the command that grants the missing right.
func (d denial) advice(object plan.Object, account string) string {
	if d.impersonation {
		return fmt.Sprintf("the agent may not act as ServiceAccount %s/%s (--as-service-account): "+
			"`kubectl create clusterrole fairlead-agent-as-%s --verb=impersonate --resource=serviceaccounts --resource-name=%s` "+
			"in the member, bound to the agent's account, allows it", object.Namespace, account, account, account)
	}
	return fmt.Sprintf("the agent applies namespaced objects as the ServiceAccount %q of their namespace; the owner of the member allows it with "+
		"`kubectl create role fairlead-%s -n %s --verb=%s --resource=%s` and "+
		"`kubectl create rolebinding fairlead-%s -n %s --role=fairlead-%s --serviceaccount=%s:%s`, and the agent tries again by itself",
		account, d.resource, object.Namespace, strings.Join(accountVerbs(), ","), d.resource,
		d.resource, object.Namespace, d.resource, object.Namespace, account)
}

// accountVerbs are the verbs that an account needs on what is applied as it. Watches use the agent's own rights.
func accountVerbs() []string { return []string{"get", "create", "patch", "delete"} }
