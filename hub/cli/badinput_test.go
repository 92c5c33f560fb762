package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestBadInputIsOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	NewWithT(t).Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	serveIn := func(args ...string) []string {
		return append([]string{"serve", "--data-dir", filepath.Join(dir, "data"), "--metrics-bind-address", "0", "--dashboard-bind-address", "0"}, args...)
	}
	withIssuer := func(args ...string) []string {
		return append([]string{
			"serve", "--data-dir", filepath.Join(dir, "data"), "--metrics-bind-address", "0", "--dashboard-bind-address", "127.0.0.1:0",
			"--oidc-issuer-url", "https://login.example.com", "--oidc-client-id", "fairlead",
		}, args...)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"a login without an issuer":              {serveIn("--dashboard-bind-address", "127.0.0.1:0", "--dashboard-oidc-client-secret-file", file), "--dashboard-oidc-client-secret-file needs an issuer: name it with --oidc-issuer-url"},
		"a login without a dashboard":            {withIssuer("--dashboard-bind-address", "0", "--dashboard-oidc-scopes", "groups"), "--dashboard-oidc-scopes is for the dashboard, and there is none"},
		"a certificate without a dashboard":      {serveIn("--dashboard-cert-file", file, "--dashboard-key-file", file), "is for the dashboard, and there is none"},
		"an authority without a dashboard":       {serveIn("--dashboard-client-ca-file", file), "--dashboard-client-ca-file is for the dashboard, and there is none"},
		"a Service of lines that nobody opens":   {[]string{"serve", "--kubeconfig", file, "--connect=false", "--connect-service", "a/b:1"}, "--connect-service is for the lines of agents"},
		"a login that the API does not know":     {serveIn("--dashboard-bind-address", "127.0.0.1:0", "--dashboard-oidc-issuer-url", "https://login.example.com"), "needs --oidc-issuer-url or --authentication-config as well"},
		"a login at another issuer than the API": {withIssuer("--dashboard-oidc-issuer-url", "https://other.example.com"), "the embedded API would refuse whom the dashboard sends"},
		"a login of another client than the API": {withIssuer("--dashboard-oidc-client-id", "other"), "the embedded API would refuse whom the dashboard sends"},
		"a login of no client":                   {serveIn("--dashboard-bind-address", "127.0.0.1:0", "--authentication-config", file, "--dashboard-oidc-issuer-url", "https://login.example.com"), "needs --dashboard-oidc-client-id"},
		"a way back that is no callback":         {withIssuer("--dashboard-oidc-redirect-url", "https://hub.example.com/"), "is not of the form https://HOST[:PORT]/signin/oidc/callback"},
		"a way back without TLS":                 {withIssuer("--dashboard-oidc-redirect-url", "http://hub.example.com/signin/oidc/callback"), "is not of the form https://HOST[:PORT]/signin/oidc/callback"},
		"a client secret that is empty":          {withIssuer("--dashboard-oidc-client-secret-file", file), "is empty"},
		"a client secret that is not there":      {withIssuer("--dashboard-oidc-client-secret-file", filepath.Join(dir, "absent")), "reading the client secret of the issuer"},
		"an authority without a certificate":     {withIssuer("--dashboard-oidc-ca-file", file), "holds no certificate"},
		"an issuer without TLS":                  {withIssuer("--oidc-issuer-url", "http://login.example.com"), "is not of the form https://HOST[:PORT][/PATH]"},
		"a command that is not known":            {[]string{"server"}, "unknown command \"server\"; see `hub --help`"},
		"a token command that is not known":      {[]string{"token", "make"}, "see `hub token --help`"},
		"a flag that is not known":               {[]string{"serve", "--nope"}, "unknown flag: --nope; see `hub serve --help`"},
		"an argument that is none":               {[]string{"serve", "now"}, "unexpected argument \"now\""},
		"a number that is none":                  {[]string{"serve", "--secure-port", "https"}, "see `hub serve --help`"},
		"a port beyond the last":                 {serveIn("--secure-port", "70000"), "--secure-port 70000"},
		"an address that is none":                {serveIn("--bind-address", "here"), "--bind-address \"here\""},
		"a peer address that is none":            {serveIn("--peer-bind-address", "here"), "--peer-bind-address \"here\" is not of the form IP:PORT"},
		"a peer address with a path":             {serveIn("--peer-advertise-address", "https://hub"), "--peer-advertise-address"},
		"a URL as a host":                        {serveIn("--advertise-host", "https://hub"), "--advertise-host"},
		"a URL with a path":                      {serveIn("--advertise-url", "https://hub/path"), "--advertise-url"},
		"a URL without TLS":                      {serveIn("--advertise-url", "http://hub"), "--advertise-url"},
		"a prefix that leaves no room":           {serveIn("--execution-namespace-prefix", "a-very-long-prefix-"), "--execution-namespace-prefix"},
		"a prefix that no namespace has":         {serveIn("--execution-namespace-prefix", "Works_"), "--execution-namespace-prefix"},
		"a grace period of nothing":              {serveIn("--cluster-monitor-grace-period", "0s"), "--cluster-monitor-grace-period 0s is not positive"},
		"an expression that is none":             {serveIn("--skipped-propagating-namespaces", "("), "--skipped-propagating-namespaces"},
		"a kind that is none":                    {serveIn("--skipped-propagating-apis", "a/b/c/d"), "--skipped-propagating-apis"},
		"events of another kind":                 {serveIn("--events", "some"), "must be summary or all"},
		"namespaces for some":                    {serveIn("--propagate-namespaces", "some"), "must be used or all"},
		"a log of another format":                {serveIn("--log-format", "xml"), "must be text or json"},
		"less than no detail":                    {serveIn("-v", "-1"), "--verbosity"},
		"less memory than any":                   {serveIn("--memory-limit", "0"), "--memory-limit"},
		"less storage than none":                 {serveIn("--namespace-storage", "-1Gi"), "--namespace-storage is \"-1Gi\""},
		"storage that is no number":              {serveIn("--namespace-storage", "much"), "--namespace-storage is \"much\""},
		"a port for somebody else's API":         {[]string{"serve", "--kubeconfig", file, "--secure-port", "1"}, "--secure-port is for the embedded API"},
		"a context without a kubeconfig":         {serveIn("--context", "x"), "--admin-context"},
		"a kubeconfig that is not there":         {[]string{"serve", "--metrics-bind-address", "0", "--dashboard-bind-address", "0", "--kubeconfig", filepath.Join(dir, "absent")}, "there is no kubeconfig"},
		"a kubeconfig that is empty":             {[]string{"serve", "--metrics-bind-address", "0", "--dashboard-bind-address", "0", "--kubeconfig", file}, "cannot be used"},
		"a metrics port that is taken":           {serveIn("--metrics-bind-address", l.Addr().String()), "address already in use; choose another, or 0 for none"},
		"a program that is not there":            {serveIn("--controlplane-binary", filepath.Join(dir, "absent")), "--controlplane-binary"},
		"a data directory that is a file":        {[]string{"serve", "--metrics-bind-address", "0", "--dashboard-bind-address", "0", "--data-dir", file, "--controlplane-binary", "sh"}, "cannot be written"},
		"backups of somebody else's API":         {[]string{"serve", "--kubeconfig", file, "--backup-every", "6h"}, "back up the etcd of the API that you have"},
		"backups to nowhere":                     {serveIn("--backup-every", "6h", "--backup-unsealed"), "--backup-every needs --backup-dir"},
		"backups for nobody":                     {serveIn("--backup-every", "6h", "--backup-dir", dir), "--backup-every needs --backup-recipient"},
		"backups that are sealed and are not":    {serveIn("--backup-every", "6h", "--backup-dir", dir, "--backup-recipient", "age1x", "--backup-unsealed"), "choose one"},
		"backups for a key that is none":         {serveIn("--backup-every", "6h", "--backup-dir", dir, "--backup-recipient", "age1x"), "--backup-recipient: \"age1x\" is no public key"},
		"backups all the time":                   {serveIn("--backup-every", "1ms", "--backup-dir", dir, "--backup-unsealed"), "--backup-every 1ms"},
		"backups that are never made":            {serveIn("--backup-dir", dir), "--backup-dir says how backups are made, and there are none without --backup-every"},
		"backups that are kept for less":         {serveIn("--backup-every", "6h", "--backup-dir", dir, "--backup-unsealed", "--backup-max-age", "1h"), "--backup-max-age 1h0m0s is less"},
		"less than no backups":                   {serveIn("--backup-every", "6h", "--backup-dir", dir, "--backup-unsealed", "--backup-keep", "-1"), "--backup-keep -1 is negative"},
		"an approval for no wave":                {[]string{"upgrade", "agents", "--all", "--approve", "canary"}, "without --strategy none does"},
		"a backup for nobody":                    {[]string{"backup", filepath.Join(dir, "new")}, "name one with --recipient"},
		"a backup that is sealed and is not":     {[]string{"backup", filepath.Join(dir, "new"), "--recipient", "age1x", "--unsealed"}, "choose one"},
		"a backup that is not there":             {[]string{"backup", "verify", filepath.Join(dir, "absent")}, "absent: no such file"},
		"a backup and its key in one stream":     {[]string{"restore", "-", "--key", "-"}, "only one of the backup and its key"},
		"a backup with a key that is none":       {[]string{"restore", file, "--key", file}, "holds no secret key of `hub backup keygen`"},
		"a key in a file that is there":          {[]string{"backup", "keygen", file}, "backups may need the key in it"},
		"an etcd of yours that works alone":      {serveIn("--etcd-servers", "https://a:2379", "--leader-elect=false"), "leave it out"},
		"an etcd beside somebody else's API":     {[]string{"serve", "--kubeconfig", file, "--etcd-servers", "https://a:2379"}, "--etcd-servers is for the embedded API"},
		"a hub address without a port":           {serveIn("--hub-addresses", "hub-1"), "--hub-addresses \"hub-1\""},
		"an authority that is not there":         {[]string{"ca", "import", filepath.Join(dir, "absent"), "--data-dir", filepath.Join(dir, "new")}, "no such file"},
		"an authority of no hub":                 {[]string{"ca", "import", file, "--data-dir", filepath.Join(dir, "new")}, "is not a file that `hub ca export` wrote"},
		"an authority to nowhere":                {[]string{"ca", "export"}, "name one file"},
		"an authority of nobody":                 {[]string{"ca", "export", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "none")}, "there is no certificate authority"},
		"a token for nobody":                     {[]string{"token", "create"}, "--cluster is missing"},
		"a token for a name that is none":        {[]string{"token", "create", "--cluster", "Edge_1"}, "cluster name \"Edge_1\""},
		"a token for ever":                       {[]string{"token", "create", "--cluster", "edge-1", "--ttl", "0s"}, "--ttl is 0s"},
		"a token for a name and a pattern":       {[]string{"token", "create", "--cluster", "a", "--cluster-pattern", "a-*"}, "exclude each other"},
		"a token for every name":                 {[]string{"token", "create", "--cluster-pattern", "*"}, "every name"},
		"a token for a name, often":              {[]string{"token", "create", "--cluster", "a", "--max-uses", "2"}, "--max-uses is for --cluster-pattern"},
		"a token for too many":                   {[]string{"token", "create", "--cluster-pattern", "a-*", "--max-uses", "1001"}, "between 1 and 1000"},
		"a token with a label that is none":      {[]string{"token", "create", "--cluster", "a", "--labels", "a b=c"}, "--labels: the key \"a b\""},
		"a token with a region that is none":     {[]string{"token", "create", "--cluster", "a", "--region", "a b"}, "--region \"a b\""},
		"a token that nobody approves":           {[]string{"token", "create", "--cluster", "a", "--approval", "later"}, "must be auto or manual"},
		"a hub that nobody approves":             {serveIn("--approval", "later"), "must be auto or manual"},
		"a revocation of nothing":                {[]string{"token", "revoke"}, "the token is missing"},
		"an approval of nobody":                  {[]string{"clusters", "approve"}, "the cluster is missing"},
		"a description of nothing":               {[]string{"clusters", "describe"}, "name one cluster"},
		"a cluster to forget without a name":     {[]string{"forget"}, "name one cluster"},
		"a name given up by force":               {[]string{"forget", "edge-1", "--release", "--force"}, "--force and --release exclude each other"},
		"a cluster to forget in no time":         {[]string{"forget", "edge-1", "--timeout", "0s"}, "--timeout 0s is not positive"},
		"a rollout of nothing":                   {[]string{"rollout", "pause"}, "name one application as KIND/NAME"},
		"a rollout that is no object":            {[]string{"rollout", "abort", "web"}, "name the object as KIND/NAME"},
		"a rollout of two":                       {[]string{"rollout", "undo", "deployment/a", "deployment/b"}, "name one application"},
		"an approval of no revision":             {[]string{"rollout", "approve", "deployment/a", "--revision", "0"}, "--revision 0 is not a revision"},
		"a rollout back to no revision":          {[]string{"rollout", "undo", "deployment/a", "--to-revision", "-1"}, "--to-revision -1 is not a revision"},
		"a rollout that skips nobody":            {[]string{"rollout", "skip", "deployment/a"}, "at least one cluster"},
		"a retry of nothing":                     {[]string{"rollout", "retry"}, "name the application as KIND/NAME"},
		"a time without a watch":                 {[]string{"rollout", "status", "deployment/a", "--timeout", "1s"}, "--timeout needs --watch"},
		"a watch of all":                         {[]string{"rollout", "status", "--watch"}, "name the application"},
		"a watch for programs":                   {[]string{"rollout", "status", "deployment/a", "--watch", "-o", "json"}, "--watch shows lines for people"},
		"a watch of less than no time":           {[]string{"rollout", "status", "deployment/a", "--watch", "--timeout", "-1s"}, "--timeout -1s"},
		"a plan by a file without a strategy":    {[]string{"rollout", "plan", "deployment/a", "-f", file}, "holds no RolloutStrategy"},
		"a plan by a file that is not there":     {[]string{"rollout", "plan", "deployment/a", "-f", filepath.Join(dir, "absent")}, "reading the file"},
		"a rollout command that is none":         {[]string{"rollout", "stop"}, "unknown command \"stop\"; see `hub rollout --help`"},
		"a token of a hub that nobody started":   {[]string{"token", "create", "--cluster", "edge-1", "--data-dir", dir}, "start one with `hub serve`"},
		"a token of a kubeconfig not there":      {[]string{"token", "create", "--cluster", "edge-1", "--kubeconfig", filepath.Join(dir, "absent")}, "there is no kubeconfig"},
		"a token of a context that is not there": {[]string{"token", "create", "--cluster", "edge-1", "--kubeconfig", file, "--context", "x"}, "cannot be used"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var e execution
			g.Expect(e.run(t.Context(), tc.args...)).To(Equal(1))
			g.Expect(e.lastLine()).To(And(HavePrefix("Error: "), ContainSubstring(tc.want)))
			g.Expect(strings.Count(e.err.String(), "Error: ")).To(Equal(1))
			g.Expect(e.err.String()).NotTo(ContainSubstring("Usage:"))
			g.Expect(e.out.String()).To(BeEmpty())
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--help"}, {"serve", "--help"}, {"token"}, {"token", "create", "--help"}, {"version"}} {
		g := NewWithT(t)
		var e execution
		g.Expect(e.run(t.Context(), args...)).To(BeZero())
		g.Expect(e.out.String()).NotTo(BeEmpty())
		g.Expect(e.err.String()).To(BeEmpty())
	}
}

func TestRootRestoresNothingForAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "hub")
	g.Expect(os.Mkdir(dir, 0o700)).To(Succeed())
	g.Expect(os.Chown(dir, 1000, 1000)).To(Succeed())
	in := filepath.Join(t.TempDir(), "in")
	g.Expect(os.WriteFile(in, nil, 0o600)).To(Succeed())
	var e execution
	g.Expect(e.run(t.Context(), "restore", in, "--data-dir", dir)).To(Equal(1))
	g.Expect(e.lastLine()).To(ContainSubstring("run it as the user of the hub, for example with `sudo -u '#1000'`"))
	entries, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(BeEmpty())
}
