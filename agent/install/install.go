package install

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

// New returns an Installer for a member.
func New(member *rest.Config) (*Installer, error) {
	memberClient, err := client.New(member, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	asking := rest.CopyConfig(member)
	asking.Timeout = versionTimeout
	memberVersion, err := discovery.NewDiscoveryClientForConfig(asking)
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	return &Installer{memberClient: memberClient, memberVersion: memberVersion}, nil
}

// Installer runs an agent inside its member.
type Installer struct {
	memberClient  client.Client
	memberVersion discovery.ServerVersionInterface
}

// State returns the state that an agent's Secret is to have, given the present content of the Secret, nil if there is
// none. It is called again if the Secret was changed concurrently.
type State func(kept map[string][]byte) (map[string][]byte, error)

// Apply creates the agent's objects, or brings them to the desired state. state returns the content of its Secret; if
// it is nil, the options' State is used.
func (i *Installer) Apply(ctx context.Context, o manifest.Options, state State, tell func(string)) error {
	objects, err := manifest.Objects(o)
	if err != nil {
		return err
	}
	if err := i.findNamespaces(ctx, o.Operators); err != nil {
		return err
	}
	if err := i.keepLastWord(ctx, o.Operators, objects); err != nil {
		return err
	}
	if err := i.apply(ctx, objects, state, tell); err != nil {
		return err
	}
	if err := i.removeRights(ctx, objects); err != nil {
		return err
	}
	if err := i.removeOperators(ctx, objects); err != nil {
		return err
	}
	if len(o.UpgradeImages) == 0 {
		return i.removeGuard(ctx)
	}
	return nil
}

// KeepState stores the agent's state in the member before the rest of the agent exists, so that a join that is killed
// can be resumed.
func (i *Installer) KeepState(ctx context.Context, o manifest.Options, state State) error {
	objects, err := manifest.Objects(o)
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool {
		return u.GetKind() != "Namespace" && !manifest.HasState(u)
	})
	return i.apply(ctx, objects, state, func(string) {})
}

func (i *Installer) apply(ctx context.Context, objects []*unstructured.Unstructured, state State, tell func(string)) error {
	for _, u := range objects {
		var err error
		if state != nil && manifest.HasState(u) {
			err = i.applyState(ctx, u, state)
		} else {
			err = i.applyOne(ctx, u)
		}
		if err != nil {
			return err
		}
		tell(fmt.Sprintf("Applied %s %s", u.GetKind(), name(u)))
	}
	return nil
}

func (i *Installer) applyOne(ctx context.Context, u *unstructured.Unstructured) error {
	if err := i.memberClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership, client.FieldOwner(contract.FieldManagerInstall)); err != nil {
		return fmt.Errorf("applying %s %s to the member: %w", u.GetKind(), name(u), err)
	}
	return nil
}

// stateTries bounds the attempts to write the Secret while a running agent writes it too, as it does when it renews
// its certificate.
const stateTries = 5

// applyState applies the agent's Secret only if it has not changed since it was read. A running agent may renew its
// certificate at any moment; the hub does not renew the older certificate any more, so it must not replace the new
// one.
func (i *Installer) applyState(ctx context.Context, u *unstructured.Unstructured, state State) error {
	var err error
	for range stateTries {
		secret := &corev1.Secret{}
		if err := i.memberClient.Get(ctx, client.ObjectKeyFromObject(u), secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading what an installed agent has: %w", err)
		}
		data, failed := state(secret.Data)
		if failed != nil {
			return failed
		}
		applied := u.DeepCopy()
		manifest.SetState(applied, data)
		applied.SetResourceVersion(secret.ResourceVersion) // empty if there is no Secret yet; no agent creates one
		if err = i.applyOne(ctx, applied); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// removeGuard removes the guard of an agent that the hub may no longer upgrade. Its RBAC goes first.
func (i *Installer) removeGuard(ctx context.Context) error {
	guard := metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.GuardName}
	for _, obj := range []client.Object{
		&rbacv1.RoleBinding{ObjectMeta: guard}, &rbacv1.Role{ObjectMeta: guard}, &corev1.ServiceAccount{ObjectMeta: guard},
		&appsv1.Deployment{ObjectMeta: guard}, &corev1.ConfigMap{ObjectMeta: guard},
	} {
		if err := i.memberClient.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing what upgraded the agent (%s): %w", manifest.GuardName, err)
		}
	}
	return nil
}

func name(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return u.GetName()
	}
	return u.GetNamespace() + "/" + u.GetName()
}

// State returns the state in the installed agent's Secret; nil if there is none.
func (i *Installer) State(ctx context.Context) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading what an installed agent has: %w", err)
	}
	return secret.Data, nil
}

// Installed returns whether an agent is installed, or was and has not been removed completely: its Secret goes last.
func (i *Installer) Installed(ctx context.Context) (bool, error) {
	key := client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}
	for _, obj := range []client.Object{&appsv1.Deployment{}, &corev1.Secret{}} {
		err := i.memberClient.Get(ctx, key, obj)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("looking for an installed agent: %w", err)
		}
		if err == nil {
			return true, nil
		}
	}
	return false, nil
}

// PodProblem returns why the agent's pods do not start; empty if they do, as far as the member reports it.
func (i *Installer) PodProblem(ctx context.Context) string {
	var pods corev1.PodList
	err := i.memberClient.List(ctx, &pods, client.InNamespace(contract.SystemNamespace), client.MatchingLabels{manifest.NameLabel: manifest.Name})
	if err != nil {
		return "the member does not show its pods: " + err.Error()
	}
	if len(pods.Items) == 0 {
		return "the member has made no pod of Deployment " + contract.SystemNamespace + "/" + manifest.Name + "; `kubectl describe` it"
	}
	for p := range pods.Items {
		pod := &pods.Items[p]
		for _, status := range pod.Status.ContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil {
				return fmt.Sprintf("pod %s waits: %s %s", pod.Name, waiting.Reason, waiting.Message)
			}
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return fmt.Sprintf("pod %s has no node: %s", pod.Name, condition.Message)
			}
		}
	}
	return ""
}

// stopPoll is the interval at which Stop checks whether the pods have ended.
const stopPoll = 250 * time.Millisecond

// mayRun returns whether containers of a pod run or will run. A ReplicaSet keeps pods that have ended, such as those
// that were evicted or whose node was shut down, whatever its replicas.
func mayRun(pod corev1.Pod) bool { //nolint:gocritic // it is what slices asks for
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Stop scales the agent's Deployment to zero and waits until no pod of it runs. The Deployment stays: it says where
// the agent keeps its state. stopped is false if there is none.
func (i *Installer) Stop(ctx context.Context) (stopped bool, err error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name}}
	none := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	err = i.memberClient.Patch(ctx, deployment, none, client.FieldOwner(contract.FieldManagerInstall))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("stopping the Deployment of the agent: %w", err)
	}
	stopped = err == nil
	still := ""
	err = wait.PollUntilContextCancel(ctx, stopPoll, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := i.memberClient.List(ctx, &pods, client.InNamespace(contract.SystemNamespace), client.MatchingLabels{manifest.NameLabel: manifest.Name})
		if err != nil {
			return false, err
		}
		at := slices.IndexFunc(pods.Items, mayRun)
		if at >= 0 {
			still = stillRuns(&pods.Items[at])
		}
		return at < 0, nil
	})
	if err != nil {
		if ctx.Err() == nil {
			still = "" // the pod is not what prevented it
		}
		return stopped, fmt.Errorf("waiting until no pod of the agent runs: %w%s", err, still)
	}
	return stopped, nil
}

// stillRuns says which pod has not ended, and what to do: the member waits for ever for the kubelet of a node that is gone.
func stillRuns(pod *corev1.Pod) string {
	where := ""
	if pod.Spec.NodeName != "" {
		where = " on node " + pod.Spec.NodeName
	}
	return fmt.Sprintf("; pod %s%s has not ended: give it more time with --timeout or, if its node is gone for good, run `kubectl delete pod -n %s %s --force`",
		pod.Name, where, pod.Namespace, pod.Name)
}
