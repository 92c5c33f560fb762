package registration

import (
	"cmp"
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

// errNoCall says that the hub has no rejoin token for this agent.
var errNoCall = errors.New("the hub has no token for this agent")

// rejectedFor is how long a refused token is not retried. An API server that lags behind or has just started may
// accept it later.
const rejectedFor = 3 * time.Minute

// rejection records that the hub refused a token.
type rejection struct {
	err error
	// until is when the token may be retried; zero means never.
	until time.Time
}

// rejoin gets a new certificate with a token that an operator of the hub left for this agent, sealed with the key of
// its last certificate, or with the token of the arguments if that has not been used. It returns an ErrJoinedAgain if
// somebody has joined in its place and saved the credentials in the member.
func (c *Credentials) rejoin(ctx context.Context) error {
	if c.secretStore != nil {
		if err := c.secretStore.Superseded(ctx, c.state.dir); errors.Is(err, ErrJoinedAgain) {
			return err
		}
	}
	// The hub may have exchanged its authority meanwhile.
	if err := c.learnAuthorities(ctx); err != nil {
		return err
	}
	c.shownAt = c.clock.Now()
	tokens, err := c.rejoinTokens(ctx)
	if err != nil && (c.token == "" || !errors.Is(err, errNoCall)) {
		return err
	}
	if c.token != "" {
		tokens = append(tokens, c.token)
	}
	var first error
	for _, token := range tokens {
		rejected, found := c.rejectedTokens[token]
		switch {
		case found && rejected.until.IsZero():
			continue // another token is needed
		case found && c.clock.Now().Before(rejected.until):
			first = cmp.Or(first, rejected.err)
			continue
		}
		err := c.rejoinWith(ctx, token)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return cmp.Or(first, errNoCall)
}

// rejoinWith gets a new certificate with one token.
func (c *Credentials) rejoinWith(ctx context.Context, token string) error {
	pins, err := bootstrap.CAHash(c.now().ca)
	if err != nil {
		return err
	}
	parameters, err := discovery.Parse(discovery.Flags{Hub: strings.Join(c.servers.list(), serversDivider), Token: token, CACertHashes: pins, Cluster: c.who.Cluster})
	if err != nil {
		c.reject(token, err)
		return err
	}
	j := c.joining(parameters, renewalDeadline)
	ca, err := j.discover(ctx)
	if err == nil {
		err = j.obtain(ctx, ca)
	}
	if err != nil {
		c.reject(token, err)
		return err
	}
	config, err := Load(c.state.dir, c.who.Cluster)
	if err != nil {
		return err
	}
	if err := c.useConfig(config); err != nil {
		return err
	}
	c.refusals.granted()
	ctrl.LoggerFrom(ctx).Info("The hub called this agent back; the agent has a certificate again", "Cluster", c.who.Cluster,
		"until", c.now().cert.NotAfter.UTC().Format(time.RFC3339))
	return nil
}

// reject records a token that the hub refused, unless the failure had another cause.
func (c *Credentials) reject(token string, err error) {
	switch {
	case errors.Is(err, ErrDenied), errors.Is(err, discovery.ErrToken): // the hub decided, or the token is malformed
		c.rejectedTokens[token] = rejection{err: err}
	case errors.Is(err, ErrTokenRejected):
		c.rejectedTokens[token] = rejection{err: err, until: c.clock.Now().Add(rejectedFor)}
	}
}

// rejoinTokens returns the tokens left for this agent. The one for its newest key is first; the others are probably
// used up.
func (c *Credentials) rejoinTokens(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := c.now()
	j := c.joining(c.discoveryParameters(), requestTimeout)
	seen, err := j.readPublic(ctx, bootstrap.RejoinName, trusting(now.ca))
	if errors.Is(err, errNothingThere) {
		return nil, errNoCall
	}
	if err != nil {
		return nil, err
	}
	var keys []*ecdsa.PrivateKey
	// The agent may not have fetched the last certificate that the hub issued, in a join or a renewal.
	for _, file := range []string{keyFile, renewalKeyFile} {
		begun, err := c.state.begunKey(file)
		if err != nil {
			return nil, err
		}
		if begun != nil {
			keys = append(keys, begun)
		}
	}
	var out []string
	var damaged error
	for _, key := range append(keys, now.key) {
		public, err := key.PublicKey.Bytes()
		if err != nil {
			return nil, fmt.Errorf("encoding the agent's key: %w", err)
		}
		raw, ok := seen.data[bootstrap.RejoinKey(public)]
		if !ok {
			continue
		}
		token, err := openRejoinToken(raw, key)
		if err != nil {
			damaged = errors.Join(damaged, err)
			continue
		}
		out = append(out, token)
	}
	if len(out) == 0 {
		return nil, cmp.Or(damaged, errNoCall)
	}
	return out, nil
}

// openRejoinToken decrypts a token that was sealed with a key.
func openRejoinToken(raw string, key *ecdsa.PrivateKey) (string, error) {
	call, err := bootstrap.ParseRejoinToken(raw)
	if err != nil {
		return "", err
	}
	return call.Open(key)
}
