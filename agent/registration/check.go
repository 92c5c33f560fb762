package registration

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"fairlead.dev/agent/registration/discovery"
)

const (
	// checkTimeout bounds one check.
	checkTimeout = 10 * time.Second
	// tolerableSkew is the tolerated clock skew: certificates are backdated by as much.
	tolerableSkew = 5 * time.Minute
)

// Finding is the result of one check.
type Finding struct {
	// Check is a word for what was checked.
	Check string
	// Is is what the check found: the value if all is well, otherwise the problem.
	Is string
	// Advice is how to solve the problem; empty if all is well.
	Advice string
	// Skipped says that an earlier problem made the check impossible.
	Skipped bool
}

// Failed returns whether the check found a problem.
func (f Finding) Failed() bool { return f.Advice != "" }

// Check checks everything that a join needs, and reports each finding through tell; a join can succeed if none of
// them failed. It leaves nothing behind, neither in the member nor on the hub, and does not use up the token.
func Check(ctx context.Context, o Options, tell func(Finding)) error {
	o.Progress = nil
	j, err := begin(o)
	if err != nil {
		return err
	}
	c := &checks{joining: j, tell: tell}
	reached := c.reachAny(ctx)
	c.hub(ctx, reached)
	c.member(ctx, o)
	c.name(ctx)
	return nil
}

// checks runs the checks for one join.
type checks struct {
	*joining

	tell func(Finding)
	// ca is the hub's authority, once it has been verified.
	ca []byte
}

func (c *checks) pass(check, is string, args ...any) {
	c.tell(Finding{Check: check, Is: fmt.Sprintf(is, args...)})
}

func (c *checks) failed(check, is, advice string, args ...any) {
	c.tell(Finding{Check: check, Is: is, Advice: fmt.Sprintf(advice, args...)})
}

func (c *checks) skip(why string, all ...string) {
	for _, check := range all {
		c.tell(Finding{Check: check, Is: why, Skipped: true})
	}
}

// reachAny checks the way to the hubs in turn until one is reached. Problems with those before it do not prevent a
// join.
func (c *checks) reachAny(ctx context.Context) bool {
	tell := c.tell
	defer func() { c.tell = tell }()
	for i, server := range c.parameters.Servers {
		c.parameters = c.parameters.At(server)
		var found []Finding
		c.tell = func(f Finding) { found = append(found, f) }
		reached := c.reach(ctx)
		for _, f := range found {
			if !reached && i+1 < len(c.parameters.Servers) {
				if !f.Failed() {
					continue
				}
				f.Is, f.Advice, f.Skipped = f.Is+"; trying the next hub", "", true
			}
			tell(f)
		}
		if reached {
			return true
		}
	}
	return false
}

// reach checks the way to the hub: DNS, TCP, and the proxy if there is one.
func (c *checks) reach(ctx context.Context) bool {
	const unreached = "not checked: the hub was not reached"
	hub := strings.TrimPrefix(c.parameters.Server, "https://")
	proxy, err := c.proxy()
	if err != nil {
		c.failed("proxy", err.Error(), "correct HTTPS_PROXY, which must be of the form http://HOST:PORT")
		return false
	}
	first := hub // the target of the first connection
	if proxy != nil {
		first = proxyAddress(proxy)
	}
	host, _, err := net.SplitHostPort(first)
	if err != nil {
		host = first
	}
	if !c.resolve(ctx, host) {
		c.skip(unreached, "TCP", "proxy")
		return false
	}
	conn, err := c.dial(ctx, first)
	if err != nil {
		c.failed("TCP", fmt.Sprintf("%s does not answer: %v", first, err),
			"check the address and whether the hub runs there, and let this machine connect to it through the firewall; "+
				"if a proxy is required, set HTTPS_PROXY")
		c.skip(unreached, "proxy")
		return false
	}
	defer conn.Close() //nolint:errcheck // nothing was written that counts
	c.pass("TCP", "%s answers", first)
	if proxy == nil {
		c.pass("proxy", "none is used: HTTPS_PROXY is not set, or NO_PROXY names the hub")
		return true
	}
	if err := connectThrough(ctx, conn, proxy, hub); err != nil {
		c.failed("proxy", fmt.Sprintf("%s does not connect to %s: %v", proxy.Redacted(), hub, err),
			"allow CONNECT to %s on the proxy, and put user and password into HTTPS_PROXY if it requires them; or name the hub in NO_PROXY", hub)
		return false
	}
	c.pass("proxy", "%s connects to %s", proxy.Redacted(), hub)
	return true
}

func (c *checks) proxy() (*url.URL, error) {
	request, err := http.NewRequest(http.MethodGet, c.parameters.Server, http.NoBody) //nolint:noctx // it is not sent
	if err != nil {
		return nil, err
	}
	return c.transport(nil).Proxy(request)
}

func proxyAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080"}[proxy.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

func (c *checks) resolve(ctx context.Context, host string) bool {
	if net.ParseIP(host) != nil {
		c.pass("DNS", "not needed: %s is an address", host)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		c.failed("DNS", fmt.Sprintf("%s has no address: %v", host, err),
			"check the name; if it is right, add it to the DNS that this machine uses (/etc/resolv.conf) or to /etc/hosts")
		return false
	}
	c.pass("DNS", "%s is %s", host, strings.Join(found, ", "))
	return true
}

func (c *checks) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if c.connection != nil && c.connection.Dial != nil {
		return c.connection.Dial(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// connectThrough asks a proxy for a connection to the hub.
func connectThrough(ctx context.Context, conn net.Conn, proxy *url.URL, hub string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	switch proxy.Scheme {
	case "http":
	case "https":
		secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname()})
		if err := secured.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = secured
	default:
		return nil // another protocol; the next check shows whether it connects
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: hub}, Host: hub, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.WithContext(ctx).Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // there is nothing in it
	if response.StatusCode != http.StatusOK {
		return errors.New("it answers " + response.Status)
	}
	return nil
}

// hub checks the server: its clock, its authority, and whether it knows the token.
func (c *checks) hub(ctx context.Context, reached bool) {
	const unreached = "not checked: the hub was not reached"
	if !reached {
		c.skip(unreached, "clock", "TLS", "token")
		return
	}
	c.retrier.deadline = c.retrier.clock.Now().Add(checkTimeout)
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	c.clock(ctx)
	ca, err := c.discover(ctx)
	switch {
	case err == nil:
		c.ca = ca
		if len(c.parameters.Pins) == 0 {
			c.pass("TLS", "the hub answers; its identity was not checked, as requested")
		} else {
			c.pass("TLS", "the hub's certificate authority is the pinned one")
		}
		c.pass("token", "%s is one that the hub knows", c.parameters.TokenID)
	case errors.Is(err, discovery.ErrTokenUnknown), errors.Is(err, discovery.ErrTokenSecret):
		c.skip("not known: without the token the hub's answer cannot be verified", "TLS")
		c.fail("token", err)
	default:
		c.fail("TLS", err)
		c.skip("not checked: it is not certain who answers", "token")
	}
}

// fail reports an error of a join. The advice is the part of its text after the last semicolon, or else after the
// first colon.
func (c *checks) fail(check string, err error) {
	is, advice := err.Error(), "fix that, and check again"
	if i := strings.LastIndex(is, "; "); i > 0 {
		is, advice = is[:i], is[i+2:]
	}
	c.failed(check, is, "%s", advice)
}

func (c *checks) clock(ctx context.Context) {
	// The date needs no protection: it only serves the advice.
	seen, err := c.readPublic(ctx, bootstrapapi.ConfigMapClusterInfo, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}) //nolint:gosec // see above
	if err != nil {
		c.skip("not known: "+err.Error(), "clock")
		return
	}
	theirs, err := http.ParseTime(seen.date)
	if err != nil {
		c.skip("not known: the hub does not say what time it is", "clock")
		return
	}
	ours := c.retrier.clock.Now()
	if diff := ours.Sub(theirs).Abs(); diff > tolerableSkew {
		c.failed("clock", fmt.Sprintf("this machine says %s and the hub %s, which is %s apart",
			ours.UTC().Format(time.DateTime), theirs.UTC().Format(time.DateTime), diff.Round(time.Second)),
			"correct the wrong clock, and keep it synchronized with NTP: certificates are valid for a limited time")
		return
	}
	c.pass("clock", "the clocks of this machine and the hub agree to within %s", max(ours.Sub(theirs).Abs(), time.Second).Round(time.Second))
}
