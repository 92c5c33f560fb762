package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/contract"
)

// DefaultDeadline is the default of Options.Deadline.
const DefaultDeadline = 5 * time.Minute

// probeTimeout bounds the check whether the hub still accepts an agent that has joined: the agent can work without
// the hub.
const probeTimeout = 5 * time.Second

// Options are the options of a join.
type Options struct {
	discovery.Flags

	// StateDir is where the agent keeps its key and its credentials.
	StateDir string
	// Member is the member's own API.
	Member *rest.Config
	// OnRetire says what happens to the objects in the member if the hub forgets it: Keep or Remove. Empty leaves the earlier choice, which
	// is Keep by default.
	OnRetire string
	// Rights are the rights that the agent needs in the member; Check verifies them.
	Rights []Right
	// Deadline is how long to try; 0 means the default.
	Deadline time.Duration
	// Progress is called with each step as it happens, as a sentence without a full stop; it may be nil.
	Progress func(string)
	// Clock is the clock of this machine; nil means the real one.
	Clock clock.Clock
	// Begun saves the state directory elsewhere, if the directory does not last. It is called before the hub is
	// asked, and may be nil.
	Begun func(context.Context) error
	// Connection has the proxy and other settings of the connection to the hub; nil for the defaults.
	Connection *rest.Config
	// KeepSuperseded counts a member as joined although another process has renewed its certificate, as long as the
	// certificate is valid. It is set for an agent that starts, whose arguments may be those of its first start: it
	// goes on working rather than waiting for a join. A person who runs a join leaves it false.
	KeepSuperseded bool
}

// joining is a join in progress.
type joining struct {
	parameters discovery.Parameters
	state      state
	memberID   string
	retrier    *retrier
	progress   func(string)
	begun      func(context.Context) error
	connection *rest.Config

	keepSuperseded bool
}

// Join registers the member with the hub, and returns the configuration for the hub, which it also writes to the
// state directory for Load. It does nothing if the member has joined already and the hub has not revoked its
// credentials. It resumes an interrupted join.
func Join(ctx context.Context, o Options) (*rest.Config, error) {
	j, err := begin(o)
	if err != nil {
		return nil, err
	}
	if config, ok := j.joined(ctx); ok {
		j.progress(fmt.Sprintf("Cluster %s has already joined %s", j.parameters.Cluster, j.parameters.Server))
		return config, errors.Join(j.state.setOnRetire(o.OnRetire), j.state.finished(j.parameters, false))
	}
	if j.memberID, err = MemberID(ctx, o.Member); err != nil {
		return nil, err
	}
	if err := j.noteAbandoned(); err != nil {
		return nil, err
	}
	who := identity{Cluster: j.parameters.Cluster, Server: j.parameters.Server, Servers: j.parameters.Others(), MemberID: j.memberID, OnRetire: o.OnRetire}
	if err := j.state.claim(who); err != nil {
		return nil, err
	}
	j.progress(fmt.Sprintf("Joining %s as cluster %s; the id of this member is %s", j.parameters.Server, j.parameters.Cluster, j.memberID))
	ca, err := j.discover(ctx)
	if err != nil {
		return nil, err
	}
	j.progress("Found the hub; token and certificate authority are valid")
	if err := j.obtain(ctx, ca); err != nil {
		return nil, err
	}
	if err := j.state.finished(j.parameters, true); err != nil {
		return nil, err
	}
	j.progress(fmt.Sprintf("Joined as cluster %s; the credentials are in %s", j.parameters.Cluster, j.state.path(KubeconfigFile)))
	return Load(o.StateDir, j.parameters.Cluster)
}

// Joined returns whether the member has joined already, so that Join would do nothing.
func Joined(ctx context.Context, o Options) bool {
	o.Progress = nil
	j, err := begin(o)
	if err != nil {
		return false
	}
	_, ok := j.joined(ctx)
	return ok
}

func begin(o Options) (*joining, error) {
	parameters, err := discovery.Parse(o.Flags)
	if err != nil {
		return nil, err
	}
	if o.StateDir == "" {
		return nil, fmt.Errorf("%w: its path is missing; give --state-dir", ErrStateDir)
	}
	if o.Member == nil {
		return nil, fmt.Errorf("%w: no kubeconfig of it is given", ErrMember)
	}
	j := &joining{
		parameters: parameters, state: state{dir: o.StateDir}, progress: o.Progress, begun: o.Begun, connection: o.Connection,
		keepSuperseded: o.KeepSuperseded,
	}
	if j.progress == nil {
		j.progress = func(string) {}
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	j.retrier = &retrier{clock: o.Clock, deadline: o.Clock.Now().Add(o.Deadline), progress: j.progress}

	who, err := j.state.identity()
	if err != nil {
		return nil, err
	}
	if who != nil {
		return j, j.state.checkOwner(who, parameters.Cluster)
	}
	return j, nil
}

// noteAbandoned reports what an unfinished join, as another cluster or with another hub, may have left on that hub.
func (j *joining) noteAbandoned() error {
	stage, cluster, err := StageOf(j.state.dir)
	if stage != StageBegun || err != nil {
		return err
	}
	who, err := j.state.identity()
	if who == nil || err != nil {
		return err
	}
	switch {
	case cluster != j.parameters.Cluster:
		j.progress(abandoned(*who))
	case !slices.Contains(j.parameters.Servers, who.Server):
		// It may be the same hub under another name, which will have the cluster in a moment.
		j.progress(fmt.Sprintf("Joining %s as cluster %s was begun here before and never finished; if that is another hub than %s and has the cluster, run `hub forget %s` there",
			who.Server, cluster, j.parameters.Server, cluster))
	}
	return nil
}

// abandoned returns the message about what an unfinished join as another cluster may have left.
func abandoned(who identity) string {
	return fmt.Sprintf("Joining %s as cluster %s was begun here before and never finished; if that hub has the cluster, run `hub forget %s` there", who.Server, who.Cluster, who.Cluster)
}

// Abandoned returns the same message for the files of an unfinished join.
func Abandoned(files map[string][]byte) string { return abandoned(identityIn(files)) }

// obtain gets a certificate for the key of this join and saves both. If the key's request was refused in an earlier
// attempt, or is pending with another token, it makes a new key, which can be requested again.
func (j *joining) obtain(ctx context.Context, ca []byte) error {
	const tries = 2
	var err error
	for range tries {
		var key *ecdsa.PrivateKey
		if key, err = j.key(ctx); err != nil {
			return err
		}
		var cert []byte
		cert, err = j.request(ctx, ca, key)
		if err == nil {
			err = checkCertificate(cert, key, j.parameters.Cluster)
		}
		if err == nil {
			if err := j.state.keep(j.parameters.Server, j.parameters.Cluster, ca, cert, key); err != nil {
				return err
			}
			return j.state.remove(keyFile, renewalKeyFile, retiredFile, refusedFile)
		}
		if errors.Is(err, ErrDenied) || errors.Is(err, ErrFailed) || errors.Is(err, errOutworn) {
			if failed := j.state.forgetKey(); failed != nil {
				return failed
			}
		}
		if !errors.Is(err, errOutworn) {
			return err
		}
		j.progress("An earlier request was refused, or was made with another token; sending a new one")
	}
	return err
}

// key returns the key of this join. It is saved everywhere before it is used: the first request uses up the token,
// and its answer is useless without the key.
func (j *joining) key(ctx context.Context) (*ecdsa.PrivateKey, error) {
	key, begun, err := j.state.key(keyFile)
	if err != nil || j.begun == nil {
		return key, err
	}
	// An existing key is saved as well: the process that made it may have been killed before it saved the key.
	err = j.begun(ctx)
	if err != nil && !begun {
		err = errors.Join(err, j.state.forgetKey())
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// checkCertificate returns an error unless a certificate matches the request.
func checkCertificate(cert []byte, key *ecdsa.PrivateKey, cluster string) error {
	parsed, err := parseCertificate(cert)
	if err != nil {
		return fmt.Errorf("%w: the certificate that it issued is damaged (%w)", ErrFailed, err)
	}
	if parsed.Subject.CommonName != contract.AgentUser(cluster) || !key.PublicKey.Equal(parsed.PublicKey) {
		return fmt.Errorf("%w: the certificate that it issued is not for the agent of cluster %s and its key", ErrFailed, cluster)
	}
	return nil
}

func parseCertificate(raw []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errors.New("there is no certificate")
	}
	return x509.ParseCertificate(block.Bytes) //nolint:wrapcheck // the caller says what it was
}
