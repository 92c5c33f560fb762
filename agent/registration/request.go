package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// errOutworn says that the request for this key was refused before this attempt, or was made with another token and
// waits for an operator, who may never approve it. A new key is needed.
var errOutworn = errors.New("the request was refused before, or was made with another token")

// request asks the hub to certify a key, and waits for the answer.
func (j *joining) request(ctx context.Context, ca []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	hubClient, err := newClient(j.bearer(ca))
	if err != nil {
		return nil, err
	}
	desired, err := j.newRequest(key)
	if err != nil {
		return nil, err
	}
	created, err := j.create(ctx, hubClient, desired)
	if err != nil {
		return nil, err
	}
	if created {
		j.progress(fmt.Sprintf("Asked the hub for a certificate (request %s)", desired.Name))
	} else {
		j.progress(fmt.Sprintf("Continuing with request %s, which was made before", desired.Name))
	}
	return j.await(ctx, hubClient, desired, created)
}

// bearer returns a configuration for reaching the hub with the token.
func (j *joining) bearer(ca []byte) *rest.Config {
	config := &rest.Config{}
	if j.connection != nil {
		config = rest.CopyConfig(j.connection)
	}
	config.Host, config.BearerToken, config.TLSClientConfig = j.parameters.Server, j.parameters.Token(), rest.TLSClientConfig{CAData: ca}
	return config
}

// newRequest returns the request for the key of this join. Its name is derived from the key, so that it is found
// again after a restart.
func (j *joining) newRequest(key *ecdsa.PrivateKey) (*certificatesv1.CertificateSigningRequest, error) {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("encoding a public key: %w", err)
	}
	const short = 6 // bytes of the hash, enough to tell the keys of one member apart
	sum := sha256.Sum256(public)
	return newRequest(j.parameters.Cluster+"-"+hex.EncodeToString(sum[:short]), j.parameters.Cluster, j.memberID, contract.JoinID(public), key)
}

// newRequest returns a request for the certificate of a cluster's agent, for the join with this ID.
func newRequest(name, cluster, memberID, join string, key *ecdsa.PrivateKey) (*certificatesv1.CertificateSigningRequest, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName:   contract.AgentUser(cluster),
		Organization: []string{contract.AgentGroup, contract.JoinGroup(join)},
	}}, key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate request: %w", err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{contract.SystemLabel: contract.LabelTrue},
			Annotations: map[string]string{contract.MemberIDAnnotation: memberID},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName:        certificatesv1.KubeAPIServerClientSignerName,
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			ExpirationSeconds: new(int32(contract.CertificateLifetimeSeconds)),
		},
	}, nil
}

// create creates the request, and returns whether it did not exist yet.
func (j *joining) create(ctx context.Context, hubClient client.Client, desired *certificatesv1.CertificateSigningRequest) (bool, error) {
	created := false
	settling := j.retrier.whileTokenSpreads()
	err := j.retrier.do(ctx, func(ctx context.Context) error {
		err := hubClient.Create(ctx, desired.DeepCopy(), client.FieldOwner(contract.FieldManagerAgent))
		created = err == nil
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return nil
		case apierrors.IsUnauthorized(err):
			return settling(j.tokenRejected())
		case apierrors.IsForbidden(err):
			if err = j.mayNotAsk(ctx, hubClient, desired.Name, err); errors.Is(err, ErrTokenRejected) {
				err = settling(err) // a hub that is starting may not have loaded its RBAC yet
			}
			return err
		default:
			return j.apiError("making a request on the hub", err)
		}
	})
	return created, err
}

// mayNotAsk returns the error for a request that may not be created, or nil if it exists already. A token that is
// used up still allows reading requests, and this join's may exist if the join was interrupted before.
func (j *joining) mayNotAsk(ctx context.Context, hubClient client.Client, name string, forbidden error) error {
	who := &authenticationv1.SelfSubjectReview{}
	if err := hubClient.Create(ctx, who); err != nil || !slices.Contains(who.Status.UserInfo.Groups, contract.UsedTokenGroup) {
		return j.apiError("making a request on the hub", forbidden)
	}
	err := hubClient.Get(ctx, client.ObjectKey{Name: name}, &certificatesv1.CertificateSigningRequest{})
	switch {
	case apierrors.IsNotFound(err):
		return j.tokenUsed()
	case apierrors.IsUnauthorized(err):
		return j.tokenRejected()
	case err != nil:
		return j.apiError("reading the request on the hub", err)
	}
	return nil
}

// await polls until the request is decided. ours says that this process created it.
func (j *joining) await(
	ctx context.Context, hubClient client.Client, desired *certificatesv1.CertificateSigningRequest, ours bool,
) ([]byte, error) {
	var cert []byte
	err := j.retrier.do(ctx, func(ctx context.Context) error {
		live := &certificatesv1.CertificateSigningRequest{}
		err := hubClient.Get(ctx, client.ObjectKeyFromObject(desired), live)
		switch {
		case apierrors.IsNotFound(err):
			// The hub garbage-collects requests after a while; the same one may be created again.
			err := hubClient.Create(ctx, desired.DeepCopy(), client.FieldOwner(contract.FieldManagerAgent))
			if apierrors.IsForbidden(err) {
				err = j.mayNotAsk(ctx, hubClient, desired.Name, err)
				if err != nil {
					return err
				}
			}
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return j.apiError("making a request on the hub again", err)
			}
			return temporaryError{error: j.undecidedError(desired.Name), expected: true}
		case apierrors.IsUnauthorized(err):
			return j.tokenRejected()
		case err != nil:
			return j.apiError("reading the request on the hub", err)
		}
		cert, err = j.answer(live, ours)
		return err
	})
	return cert, err
}

// answer returns the certificate, or an error that says why there is none.
func (j *joining) answer(live *certificatesv1.CertificateSigningRequest, ours bool) ([]byte, error) {
	for _, condition := range live.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateDenied:
			if !ours {
				return nil, errOutworn
			}
			return nil, &DeniedError{Reason: condition.Reason, Message: condition.Message}
		case certificatesv1.CertificateFailed:
			if !ours {
				return nil, errOutworn
			}
			return nil, fmt.Errorf("%w: its signer reports %q; see the log of the hub's control plane", ErrFailed, condition.Message)
		default:
		}
	}
	switch {
	case len(live.Status.Certificate) > 0:
		return live.Status.Certificate, nil
	case !ours && j.isHeldForOther(live):
		return nil, errOutworn
	default:
		return nil, temporaryError{error: j.undecidedError(live.Name), expected: true}
	}
}

// isHeldForOther returns whether a request that was made with another token waits for an operator. A request that the
// hub has not looked at yet will be decided when the hub is back.
func (j *joining) isHeldForOther(live *certificatesv1.CertificateSigningRequest) bool {
	return len(live.Status.Conditions) == 0 && live.Annotations[contract.PendingAnnotation] != "" &&
		live.Spec.Username != contract.BootstrapUserPrefix+j.parameters.TokenID
}

func (j *joining) undecidedError(name string) error {
	return fmt.Errorf("%w: request %s is neither granted nor refused; check whether `hub serve` runs, then run the same command again", ErrDeadline, name)
}

// tokenUsed returns the error for a token without uses left. The hub's API may refuse such a token before the hub can
// explain it.
func (j *joining) tokenUsed() error {
	return &DeniedError{
		Reason: contract.ReasonTokenUsed,
		Message: fmt.Sprintf("Token %s was used already; `hub token list` shows by which cluster. Make another with `hub token create --cluster %s`.",
			j.parameters.TokenID, j.parameters.Cluster),
	}
}

func (j *joining) tokenRejected() error {
	return fmt.Errorf("%w: token %s has expired, was used some time ago or was deleted; make another with `hub token create --cluster %s`",
		ErrTokenRejected, j.parameters.TokenID, j.parameters.Cluster)
}

// apiError explains a failed request to the hub's API.
func (j *joining) apiError(doing string, err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err) && j.parameters.TokenID != "":
		return fmt.Errorf("%w: token %s gives no right to join (%w); make one with `hub token create --cluster %s`",
			ErrTokenRejected, j.parameters.TokenID, err, j.parameters.Cluster)
	case !errors.As(err, &status):
		return j.connectionError(err)
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err), apierrors.IsConflict(err):
		return temporaryError{error: fmt.Errorf("%w: %s: %w; check whether the hub is healthy", ErrUnreachable, doing, err)}
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
