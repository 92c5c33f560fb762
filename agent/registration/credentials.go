package registration

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration/dial"
	"fairlead.dev/common/contract"
)

// KeepOptions are the options for opening and keeping credentials.
type KeepOptions struct {
	// StateDir is the state directory to which `agent join` wrote the credentials.
	StateDir string
	// Cluster is the name under which the member joined; empty accepts any.
	Cluster string
	// OnRetire says what happens to the objects in the member if the hub forgets it: Keep or Remove. Empty leaves the earlier choice, which
	// is Keep by default.
	OnRetire string
	// Clock is replaced in tests.
	Clock clock.Clock
	// Random returns numbers from 0 to 1, for jitter.
	Random func() float64
	// SecretStore also saves the credentials to a Secret in the member; nil keeps them on disk only.
	SecretStore *SecretStore
	// Connection has the proxy and other settings of the connection to the hub; nil for the defaults.
	Connection *rest.Config

	// token is the join token of the arguments if it could not be used at the start; empty if there is none.
	token string
}

// Credentials are the agent's certificate and key for the hub, and the authorities it trusts. They change while the
// agent runs. A request that begins after a change uses the new ones, on a new connection. A request in progress,
// such as a watch, stays on its connection until it ends by itself, so that a change interrupts nothing.
type Credentials struct {
	state       state
	who         identity
	servers     *servers
	clock       clock.Clock
	random      func() float64
	connection  *rest.Config
	dial        dialFunc
	lineDial    dialFunc // for lines, which reconnect by themselves
	traffic     traffic
	secretStore *SecretStore

	// refused receives a value when the hub refused a request, and interrupted when the hub did not answer or was
	// reconnected to, since it may have restarted with another authority.
	refused, interrupted chan struct{}
	// restored receives a value when the member was restored from an older snapshot.
	restored chan struct{}
	refusals refusalTracker
	// shownAt is when the hub last served its public ConfigMaps to this agent, which was looking for a rejoin token.
	shownAt time.Time
	// rejectedTokens are rejoin tokens that the hub issued for this agent and then refused. They are not retried
	// again and again.
	rejectedTokens map[string]rejection
	// token is a token to rejoin with, besides those that the hub issues; empty if there is none.
	token string

	mu      sync.RWMutex
	current credentialSet
	// persisted are the credentials that are saved in the state directory and, with a SecretStore, in the Secret too.
	// Only these may be reported to the hub.
	persisted credentialSet
}

// credentialSet is an immutable snapshot of the credentials.
type credentialSet struct {
	// ca are the trusted authorities, in PEM.
	ca        []byte
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
	config    *rest.Config
	transport http.RoundTripper
	// trusts are the hashes of the trusted authorities, and issuer that of the certificate's authority; empty if that is not trusted.
	trusts []string
	issuer string
}

// OpenCredentials reads the credentials that `agent join` wrote to the state directory.
func OpenCredentials(o KeepOptions) (*Credentials, error) {
	config, err := Load(o.StateDir, o.Cluster)
	if err != nil {
		return nil, err
	}
	if err := (state{dir: o.StateDir}).setOnRetire(o.OnRetire); err != nil {
		return nil, err
	}
	c := &Credentials{
		state: state{dir: o.StateDir}, clock: o.Clock, random: o.Random, connection: o.Connection, secretStore: o.SecretStore,
		refused: make(chan struct{}, 1), interrupted: make(chan struct{}, 1), restored: make(chan struct{}, 1), rejectedTokens: map[string]rejection{},
		token: o.token,
	}
	who, err := c.state.identity()
	if err != nil {
		return nil, err
	}
	c.who = *who
	if err := c.recallRefusal(); err != nil {
		return nil, err
	}
	c.who.Server = config.Host
	c.servers = newServers(config.Host, splitServers(who.Servers))
	var reach dialFunc
	if o.Connection != nil {
		reach = o.Connection.Dial
	}
	c.lineDial = c.servers.bounded(c.traffic.counted(dialer(reach)))
	c.dial = c.servers.bounded(c.traffic.counted(redialed(reach, func() { notify(c.interrupted) })))
	if err := c.useConfig(config); err != nil {
		return nil, err
	}
	if c.secretStore == nil || c.secretStore.has(c.state.dir) {
		c.persisted = c.current
	}
	return c, nil
}

// useConfig switches to the credentials in a configuration.
func (c *Credentials) useConfig(config *rest.Config) error {
	damaged := func(err error) error {
		return fmt.Errorf("%w: %s in %q is damaged (%w); remove the file and join again", ErrStateDir, KubeconfigFile, c.state.dir, err)
	}
	cert, err := parseCertificate(config.CertData)
	if err != nil {
		return damaged(err)
	}
	if cert.Subject.CommonName != contract.AgentUser(c.who.Cluster) {
		return damaged(fmt.Errorf("its certificate is for %q", cert.Subject.CommonName))
	}
	block, _ := pem.Decode(config.KeyData)
	if block == nil {
		return damaged(errors.New("there is no key in it"))
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return damaged(err)
	}
	whole := &rest.Config{}
	if c.connection != nil {
		whole = rest.CopyConfig(c.connection)
	}
	whole.Host = config.Host
	whole.Dial = c.dial
	whole.TLSClientConfig = rest.TLSClientConfig{CAData: config.CAData, CertData: config.CertData, KeyData: config.KeyData}
	transport, err := newTransport(whole)
	if err != nil {
		return damaged(err)
	}
	trusts, issuer, err := hashes(config.CAData, cert)
	if err != nil {
		return damaged(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = credentialSet{ca: config.CAData, cert: cert, key: key, config: whole, transport: dial.InTurn(transport), trusts: trusts, issuer: issuer}
	if c.secretStore == nil {
		c.persisted = c.current
	}
	return nil
}

// markPersisted records that the present credentials are saved in the member, too.
func (c *Credentials) markPersisted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.persisted = c.current
}

// MemberRestored signals that the member, and with it the Secret, was restored from an older snapshot.
func (c *Credentials) MemberRestored() { notify(c.restored) }

// markLost records that the credentials are not saved in the member.
func (c *Credentials) markLost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.persisted = credentialSet{}
}

// keep writes new authorities or a new certificate to the disk, and switches to them.
func (c *Credentials) keep(ca, cert []byte, key *ecdsa.PrivateKey) error {
	if err := c.state.keep(c.servers.now(), c.who.Cluster, ca, cert, key); err != nil {
		return err
	}
	config, err := Load(c.state.dir, c.who.Cluster)
	if err != nil {
		return err
	}
	return c.useConfig(config)
}

func encodeCertificate(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

func (c *Credentials) now() credentialSet {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.current
}

// Cluster returns the name under which the member joined.
func (c *Credentials) Cluster() string { return c.who.Cluster }

// Trust returns the hashes of the authorities that the agent trusts, and of the authority of its certificate, which
// is empty if that is not trusted. With a SecretStore these are the ones that this process last saved or found there,
// and none while the Secret is missing: the hub drops its old authority once agents report the new one, which would
// lock out an agent that then starts from an older Secret.
func (c *Credentials) Trust() (authorities []string, issuer string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.persisted.trusts, c.persisted.issuer
}

// Config returns a configuration for reaching the hub as the agent, with the present credentials. Its host is the
// hub's address at the start; RoundTrip replaces it by the present one.
func (c *Credentials) Config() *rest.Config {
	return &rest.Config{Host: c.who.Server, Transport: c}
}

// notify sends a value unless one is pending already.
func notify(whom chan<- struct{}) {
	select {
	case whom <- struct{}{}:
	default:
	}
}
