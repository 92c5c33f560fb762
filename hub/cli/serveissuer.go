package cli

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/issuer"
)

// issuerFlags configure the issuer for the dashboard: by default that of the embedded API, whose tokens the API
// accepts.
type issuerFlags struct {
	url         string
	clientID    string
	secretFile  string
	caFile      string
	scopes      []string
	redirectURL string
	// algs is the value of --oidc-signing-algs.
	algs []string
}

// The names of kube-apiserver's flags that are also used here, and the prefix for those of the dashboard.
const (
	issuerURLFlag   = "oidc-issuer-url"
	clientIDFlag    = "oidc-client-id"
	issuerCAFlag    = "oidc-ca-file"
	signingAlgsFlag = "oidc-signing-algs"
	dashboardPrefix = "dashboard-"
)

func (f *issuerFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, dashboardPrefix+issuerURLFlag, "", "https://ISSUER at which people sign in to the dashboard; the hub's API must accept its tokens (default: --oidc-issuer-url)")
	fs.StringVar(&f.clientID, dashboardPrefix+clientIDFlag, "", "client as which the dashboard is known to the issuer, and whom its tokens are for (default: --oidc-client-id)")
	fs.StringVar(&f.secretFile, "dashboard-oidc-client-secret-file", "", "file with the secret of that client; read again whenever it is used (default: it is a public client, which has none)")
	fs.StringVar(&f.caFile, dashboardPrefix+issuerCAFlag, "", "certificate authority of the issuer (default: --oidc-ca-file, or else those of this machine)")
	fs.StringSliceVar(&f.scopes, "dashboard-oidc-scopes", []string{"openid", "profile", "email"}, "what the issuer is asked for; some need groups for groups, and offline_access for sessions that outlive an ID token")
	fs.StringVar(&f.redirectURL, "dashboard-oidc-redirect-url", "", "https://HOST[:PORT]"+auth.CallbackPath+" to which the issuer sends people back (default: at the name by which they call, if the dashboard's certificate is for it)")
}

// given returns the name of one of these flags that was set; empty if none was.
func (f *issuerFlags) given(fs *pflag.FlagSet) (name string) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&issuerFlags{}).add(own)
	fs.Visit(func(flag *pflag.Flag) {
		if name == "" && own.Lookup(flag.Name) != nil {
			name = "--" + flag.Name
		}
	})
	return name
}

// complete copies missing settings from the flags of the embedded API, and validates.
func (f *issuerFlags) complete(fs *pflag.FlagSet, embedded bool) error {
	name := f.given(fs)
	for _, one := range []struct {
		flag string
		to   *string
	}{{issuerURLFlag, &f.url}, {clientIDFlag, &f.clientID}, {issuerCAFlag, &f.caFile}} {
		theirs := fs.Lookup(one.flag).Value.String()
		if embedded && theirs != "" && *one.to != "" && *one.to != theirs && one.flag != issuerCAFlag {
			return fmt.Errorf("--%s%s is %s, and --%s %s: the embedded API would refuse whom the dashboard sends", dashboardPrefix, one.flag, *one.to, one.flag, theirs)
		}
		if *one.to == "" {
			*one.to = theirs
		}
	}
	if fs.Changed(signingAlgsFlag) || fs.Changed(issuerURLFlag) {
		f.algs, _ = fs.GetStringSlice(signingAlgsFlag)
	}
	switch {
	case f.url == "" && name != "":
		return fmt.Errorf("%s needs an issuer: name it with --oidc-issuer-url, or with --dashboard-oidc-issuer-url if it is in --authentication-config or the API is not the embedded one", name)
	case f.url == "":
		return nil
	case embedded && !fs.Changed(issuerURLFlag) && !fs.Changed("authentication-config"):
		return errors.New("--dashboard-oidc-issuer-url needs --oidc-issuer-url or --authentication-config as well: the embedded API would refuse whom the dashboard sends")
	case f.clientID == "" && name == "":
		return nil // the API server reports what is missing
	case f.clientID == "":
		return errors.New("--dashboard-oidc-issuer-url needs --dashboard-oidc-client-id: as whom the issuer knows the dashboard")
	}
	if err := f.checkRedirectURL(); err != nil {
		return err
	}
	_, err := f.issuer(clock.RealClock{}) // validate now rather than after the API has started
	return err
}

func (f *issuerFlags) checkRedirectURL() error {
	if f.redirectURL == "" {
		return nil
	}
	u, err := url.Parse(f.redirectURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Path != auth.CallbackPath || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("--dashboard-oidc-redirect-url %q is not of the form https://HOST[:PORT]%s", f.redirectURL, auth.CallbackPath)
	}
	return nil
}

// issuer returns the issuer for the dashboard; nil if there is none.
func (f *issuerFlags) issuer(c clock.PassiveClock) (*issuer.Issuer, error) {
	if f.url == "" {
		return nil, nil
	}
	i, err := issuer.New(issuer.Options{
		URL: f.url, ClientID: f.clientID, ClientSecretFile: f.secretFile, CAFile: f.caFile, Scopes: f.scopes, SigningAlgs: f.algs, Clock: c,
	})
	if err != nil {
		return nil, fmt.Errorf("--%s%s: %w", dashboardPrefix, issuerURLFlag, err)
	}
	return i, nil
}
