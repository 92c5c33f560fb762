package registration

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/bootstrap"
)

// errNoCall says that nobody calls this agent back.
var errNoCall = errors.New("the hub has no token for this agent")

// rejoin gets a new certificate with the token that an operator of the hub laid there for
// this agent, sealed with the key of the certificate that ended.
func (c *Credentials) rejoin(ctx context.Context) error {
	// The hub may have exchanged its authority meanwhile.
	if err := c.learnAuthorities(ctx); err != nil {
		return err
	}
	now := c.now()
	token, err := c.called(ctx)
	if err != nil {
		return err
	}
	if token == c.rejectedToken {
		return errNoCall
	}
	pins, err := bootstrap.CAHash(now.ca)
	if err != nil {
		return err
	}
	parameters, err := discovery.Parse(discovery.Flags{Hub: strings.Join(c.servers.list(), serversDivider), Token: token, CACertHashes: pins, Cluster: c.who.Cluster})
	if err != nil {
		return err
	}
	j := c.joining(parameters, renewalDeadline)
	ca, err := j.discover(ctx)
	if err != nil {
		return err
	}
	if err := j.obtain(ctx, ca); err != nil {
		if errors.Is(err, ErrDenied) || errors.Is(err, ErrTokenRejected) {
			c.rejectedToken = token
		}
		return err
	}
	config, err := Load(c.state.dir, c.who.Cluster)
	if err != nil {
		return err
	}
	if err := c.take(config); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("The hub called this agent back; it has a certificate again", "Cluster", c.who.Cluster,
		"until", c.now().cert.NotAfter.UTC().Format(time.RFC3339))
	return nil
}

// called returns the token that waits for this agent.
func (c *Credentials) called(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := c.now()
	j := c.joining(c.parameters(), requestTimeout)
	seen, err := j.public(ctx, bootstrap.RejoinName, trusting(now.ca))
	if errors.Is(err, errNothingThere) {
		return "", errNoCall
	}
	if err != nil {
		return "", err
	}
	keys := []*ecdsa.PrivateKey{now.key}
	// The certificate that the hub issued last may be one that this agent did not fetch any more.
	if begun, err := c.state.begunKey(renewalKeyFile); err != nil {
		return "", err
	} else if begun != nil {
		keys = append(keys, begun)
	}
	for _, key := range keys {
		public, err := key.PublicKey.Bytes()
		if err != nil {
			return "", fmt.Errorf("encoding the agent's key: %w", err)
		}
		if raw, ok := seen.data[bootstrap.RejoinKey(public)]; ok {
			call, err := bootstrap.ParseRejoinToken(raw)
			if err != nil {
				return "", err
			}
			return call.Open(key)
		}
	}
	return "", errNoCall
}
