package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/registration/approve"
)

// Deps are what the stage is given.
type Deps struct {
	// ExecutionNamespacePrefix is followed by the name of the cluster.
	ExecutionNamespacePrefix string
	// Events takes what becomes of requests.
	Events kube.EventSink
	// Clock is the hub's clock, by which tokens expire.
	Clock clock.PassiveClock
	// Workers is how many Clusters are given rights at once; 0 means a default.
	// Requests are handled one by one, so that two of the same member see each other.
	Workers int
}

const defaultWorkers = 2

// Register adds the stage to a manager: one controller for requests, one for rights.
func Register(mgr manager.Manager, deps Deps) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), deps)
	if err != nil {
		return err
	}
	workers := deps.Workers
	if workers == 0 {
		workers = defaultWorkers
	}
	return errors.Join(r.register(mgr), r.rights.register(mgr, workers))
}

// Reconciler decides about certificate signing requests of agents.
type Reconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	events    kube.EventSink
	clock     clock.PassiveClock
	rights    *Rights
}

// New returns a Reconciler of requests, which has one of rights.
func New(hubClient client.Client, hubReader client.Reader, deps Deps) (*Reconciler, error) {
	if deps.ExecutionNamespacePrefix == "" || deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("making the registration stage: prefix of execution namespaces, events and clock are needed")
	}
	return &Reconciler{
		hubClient: hubClient,
		hubReader: hubReader,
		events:    deps.Events,
		clock:     deps.Clock,
		rights:    &Rights{hubClient: hubClient, hubReader: hubReader, prefix: deps.ExecutionNamespacePrefix},
	}, nil
}

// Reconcile decides about one request, and does what an approval needs before it.
func (r *Reconciler) Reconcile(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (ctrl.Result, error) {
	if !pending(csr) {
		return ctrl.Result{}, nil
	}
	request, ours := approve.Read(csr.Spec.Request)
	if !ours {
		return ctrl.Result{}, nil
	}
	found, err := r.gather(ctx, csr, request)
	if err != nil {
		return ctrl.Result{}, err
	}
	decision := approve.Decide(found.input)
	if decision.Verdict == approve.Approve && decision.Join {
		admitted, err := r.admit(ctx, csr, found)
		if apierrors.IsAlreadyExists(err) {
			return ctrl.Result{RequeueAfter: soon}, nil // somebody else was first: look again
		}
		if err != nil || !admitted {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	return ctrl.Result{}, r.conclude(ctx, csr, decision)
}

const (
	// soon is when to look again at something that changed under us.
	soon = 10 * time.Millisecond
	// wait bounds how long a join waits when the event that should wake it is missed.
	wait = time.Second
)

// admit takes the steps of a join that come before the approval, and reports whether
// all of them are done.
func (r *Reconciler) admit(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, found *found) (bool, error) {
	if err := r.useToken(ctx, csr, found); err != nil {
		return false, err
	}
	if err := r.ensureCluster(ctx, found); err != nil {
		return false, err
	}
	return r.rights.Ensure(ctx, found.cluster, r.hubReader)
}

// useToken marks the token as used for this request. Of two requests that are seen at
// once only one gets it: the write holds for the token as it was read.
func (r *Reconciler) useToken(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, found *found) error {
	if found.input.Token.Used() {
		return nil // for this request, or it would not have come so far
	}
	edit, err := kube.Begin(found.secret)
	if err != nil {
		return fmt.Errorf("editing token %q: %w", found.input.Token.ID, err)
	}
	metav1.SetMetaDataAnnotation(&found.secret.ObjectMeta, contract.TokenUsedByAnnotation, found.input.MemberID)
	metav1.SetMetaDataAnnotation(&found.secret.ObjectMeta, contract.TokenUsedAtAnnotation, r.clock.Now().UTC().Format(time.RFC3339))
	metav1.SetMetaDataAnnotation(&found.secret.ObjectMeta, contract.TokenUsedForAnnotation, string(csr.UID))
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); err != nil {
		return fmt.Errorf("marking token %q as used: %w", found.input.Token.ID, err)
	}
	return nil
}

// ensureCluster makes the Cluster, or gives one that was made beforehand its member.
func (r *Reconciler) ensureCluster(ctx context.Context, found *found) error {
	name, id := found.input.Request.Cluster, found.input.MemberID
	if found.cluster == nil {
		cluster := &clusterv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       clusterv1alpha1.ClusterSpec{ID: id, SyncMode: clusterv1alpha1.Pull},
		}
		if err := r.hubClient.Create(ctx, cluster, client.FieldOwner(contract.FieldManagerRegistration)); err != nil {
			return fmt.Errorf("making cluster %q: %w", name, err)
		}
		ctrl.LoggerFrom(ctx).Info("Making the cluster", "Cluster", name)
		found.cluster = cluster
		return nil
	}
	edit, err := kube.Begin(found.cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", name, err)
	}
	found.cluster.Spec.ID = id
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); err != nil {
		return fmt.Errorf("giving cluster %q its member: %w", name, err)
	}
	return nil
}

// conclude writes what was decided on the request.
func (r *Reconciler) conclude(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, decision approve.Decision) error {
	condition := certificatesv1.CertificateSigningRequestCondition{
		Type:           certificatesv1.CertificateApproved,
		Status:         corev1.ConditionTrue,
		Reason:         decision.Reason,
		Message:        decision.Message,
		LastUpdateTime: metav1.NewTime(r.clock.Now()),
	}
	if decision.Verdict == approve.Deny {
		condition.Type = certificatesv1.CertificateDenied
	}
	csr.Status.Conditions = append(csr.Status.Conditions, condition)
	err := r.hubClient.SubResource("approval").Update(ctx, csr, client.FieldOwner(contract.FieldManagerRegistration))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("concluding request %q: %w", csr.Name, err)
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Concluding the request", "verdict", string(decision.Verdict), "reason", decision.Reason)
		r.events(concluded(csr, decision))
	}
	return nil
}

// pending says whether a request waits for us.
func pending(csr *certificatesv1.CertificateSigningRequest) bool {
	return csr.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName &&
		len(csr.Status.Conditions) == 0 && len(csr.Status.Certificate) == 0
}
