package issuer

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// Claims are the claims of an ID token.
type Claims map[string]any

// With returns a copy with another claim.
func (c Claims) With(name string, value any) Claims {
	c = maps.Clone(c)
	c[name] = value
	return c
}

// Claims returns the honest claims for a person.
func (i *Issuer) Claims(person string, groups []string, life time.Duration) Claims {
	now := time.Now()
	return Claims{
		"iss": i.URL, "aud": i.ClientID, "sub": person, "groups": groups, "iat": now.Unix(), "exp": now.Add(life).Unix(),
		"jti": rand.Text(), // unique, as in real tokens
	}
}

// Sign returns an ID token signed by the issuer's key.
func (i *Issuer) Sign(claims Claims) string { return SignBy(i.key, claims) }

// SignBy returns an ID token signed by another key.
func SignBy(key *rsa.PrivateKey, claims Claims) string {
	text := encode(Claims{"alg": "RS256", "kid": "one"}) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(fmt.Sprintf("signing a token: %v", err)) // a mistake in the test
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// SignWith returns an ID token signed (HMAC) with a secret, which may be the public key.
func SignWith(secret []byte, claims Claims) string {
	text := encode(Claims{"alg": "HS256", "kid": "one"}) + "." + encode(claims)
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(text)) // it never fails
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// PublicKey returns the issuer's public key in PEM.
func (i *Issuer) PublicKey() []byte {
	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		panic(fmt.Sprintf("encoding the issuer's public key: %v", err)) // a mistake in the test
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Unsigned returns an ID token without a signature.
func Unsigned(claims Claims) string {
	return encode(Claims{"alg": "none"}) + "." + encode(claims) + "."
}

func encode(part Claims) string {
	data, err := json.Marshal(part)
	if err != nil {
		panic(fmt.Sprintf("encoding a token: %v", err)) // a mistake in the test
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// token exchanges a code or a refresh token, each of which is valid once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) {
		reply(w, http.StatusBadRequest, Claims{"error": code, "error_description": "refused by the test's issuer"})
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if basic { // RFC 6749 requires both to be form-encoded
		secret, _ = url.QueryUnescape(secret) // an invalid encoding does not match
	}
	if id != i.ClientID || secret != i.ClientSecret {
		refuse("invalid_client")
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var to grant
	var ok bool
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		to, ok = i.s.codes[code]
		delete(i.s.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		ok = ok && to.redirect == r.PostFormValue("redirect_uri") && to.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		token := r.PostFormValue("refresh_token")
		to, ok = i.s.refresh[token]
		delete(i.s.refresh, token)
		if i.s.renewed++; !ok {
			i.s.renewed--
			i.s.reused++
		}
	}
	if !ok {
		refuse("invalid_grant")
		return
	}
	claims := i.Claims(to.person, to.groups, i.s.life).With("nonce", to.nonce)
	mint := i.Sign
	if i.s.mint != nil {
		mint = i.s.mint
	}
	answer := Claims{"access_token": rand.Text(), "token_type": "Bearer", "id_token": mint(claims)}
	if i.s.refreshes {
		refresh := rand.Text()
		i.s.refresh[refresh] = to
		answer["refresh_token"] = refresh
	}
	reply(w, http.StatusOK, answer)
}
