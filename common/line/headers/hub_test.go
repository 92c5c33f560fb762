package headers

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
)

func TestARequestNamesItsCallerOnly(t *testing.T) {
	alice := Caller{User: "alice", Groups: []string{"ops", "dev"}, Request: "r-1"}
	named := func(more Headers) Headers {
		out := Headers{"Fairlead-User": {"alice"}, "Fairlead-Group": {"ops", "dev"}, "Fairlead-Request": {"r-1"}}
		maps.Copy(out, more)
		return out
	}
	for name, c := range map[string]struct {
		given   Headers
		upgrade string
		want    Headers
	}{
		"what clients say of themselves passes": {
			given: Headers{"Accept": {"application/json"}, "User-Agent": {"kubectl"}, "Content-Type": {"application/json"}, "Audit-Id": {"a-1"}},
			want:  named(Headers{"Accept": {"application/json"}, "User-Agent": {"kubectl"}, "Content-Type": {"application/json"}, "Audit-Id": {"a-1"}}),
		},
		"credentials, identities and the words of proxies do not": {
			given: Headers{
				"Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Impersonate-User": {"root"}, "Impersonate-Extra-Scopes": {"x"}, "X-Remote-User": {"root"},
				"X-Remote-Extra-A": {"x"}, "X-Forwarded-For": {"1.2.3.4"}, "Forwarded": {"for=x"}, "Proxy-Authorization": {"x"}, "Te": {"trailers"},
				"Transfer-Encoding": {"chunked"}, "Keep-Alive": {"x"}, "X_Remote_User": {"root"}, "X_forwarded-For": {"1.2.3.4"},
			},
			want: named(nil),
		},
		"names of ours cannot be chosen, in whatever case": {
			given: Headers{"Fairlead-User": {"root"}, "fairlead-group": {"system:masters"}, "FAIRLEAD-REQUEST": {"r-0"}, "Fairlead-Hop": {"1"}, "impersonate-user": {"root"}},
			want:  named(nil),
		},
		"an upgrade is written anew": {
			given:   Headers{"Connection": {"Upgrade, Authorization"}, "Upgrade": {"SPDY/3.1"}, "X-Stream-Protocol-Version": {"v4.channel.k8s.io"}},
			upgrade: "SPDY/3.1",
			want:    named(Headers{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, "X-Stream-Protocol-Version": {"v4.channel.k8s.io"}}),
		},
		"tokens among protocols do not pass": {
			given: Headers{"Sec-Websocket-Protocol": {"v5.channel.k8s.io, Base64Url.bearer.authorization.k8s.io.c2VjcmV0", "v4.channel.k8s.io"}},
			want:  named(Headers{"Sec-Websocket-Protocol": {"v5.channel.k8s.io, v4.channel.k8s.io"}}),
		},
		"nor alone": {
			given: Headers{"Sec-Websocket-Protocol": {"base64url.bearer.authorization.k8s.io.c2VjcmV0"}},
			want:  named(nil),
		},
		"nobody has a write made twice":                     {given: Headers{"Idempotency-Key": {"1"}, "X-Idempotency-Key": {"1"}}, want: named(nil)},
		"a name of a request that is no name does not pass": {given: Headers{"Audit-Id": {"a", "b"}}, want: named(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ToAgent(c.given, alice, c.upgrade)
			g.Expect(c.given).To(Equal(c.want))
		})
	}
}

func TestAnAnswerIsForClientsOfKubernetes(t *testing.T) {
	for name, c := range map[string]struct {
		given    Headers
		upgraded bool
		want     Headers
	}{
		"what clients read passes, and nothing else": {
			given: Headers{
				"Content-Type": {"application/json"}, "Warning": {`299 - "x"`}, "X-Kubernetes-Pf-Flowschema-Uid": {"u"}, "Retry-After": {"1"},
				"Set-Cookie": {"a=b"}, "Location": {"https://evil.example"}, "Www-Authenticate": {"Basic"}, "Strict-Transport-Security": {"max-age=0"},
				"Fairlead-User": {"x"}, "X-Remote-User": {"x"}, "Refresh": {"0; url=x"}, "Alt-Svc": {"x"}, "Access-Control-Allow-Origin": {"*"}, "Connection": {"x"},
			},
			want: Headers{
				"Content-Type": {"application/json"}, "Warning": {`299 - "x"`}, "X-Kubernetes-Pf-Flowschema-Uid": {"u"}, "Retry-After": {"1"},
				"X-Content-Type-Options": {"nosniff"}, "Content-Security-Policy": {"sandbox"},
			},
		},
		"an upgrade has its own": {
			given: Headers{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Accept": {"x"}, "X-Stream-Protocol-Version": {"v4.channel.k8s.io"},
				"Set-Cookie": {"a=b"},
			},
			upgraded: true,
			want: Headers{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Accept": {"x"}, "X-Stream-Protocol-Version": {"v4.channel.k8s.io"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ToOperator(c.given, c.upgraded)
			g.Expect(c.given).To(Equal(c.want))
		})
	}
}
