package web

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// blocked are the networks that no page may lead to, after the IANA registries
// of special-purpose addresses (RFC 6890 and its updates). IPv6 is the other way
// round: only what is allocated for the public (2000::/3) is let through, less
// the parts of it listed here.
var blocked = prefixes(
	"0.0.0.0/8",        // "this network"
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers
	"127.0.0.0/8",      // loopback
	"169.254.0.0/16",   // link-local; the metadata of clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // former 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"168.63.129.16/32", // the host side of a cloud
	"2001::/23",        // protocol assignments: Teredo, ORCHID
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4: carries an IPv4 address
	"3fff::/20",        // documentation
)

var (
	publicV6 = netip.MustParsePrefix("2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes are an IPv4 address
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// isPublic reports whether an address is one of the public internet. An IPv4
// address inside an IPv6 one counts as what it is.
func isPublic(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !publicV6.Contains(a) {
		return false
	}
	for _, p := range blocked {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}

// allowance are the places that the user's settings open: host names, addresses
// or networks, each with a port if the user wrote one.
type allowance struct {
	hosts    map[string]bool // "host" or "host:port"
	networks []netip.Prefix
}

// newAllowance reads web.allow_private.
func newAllowance(list []string) allowance {
	a := allowance{hosts: map[string]bool{}}
	for _, s := range list {
		s = strings.ToLower(strings.TrimSpace(s))
		if p, err := netip.ParsePrefix(s); err == nil {
			a.networks = append(a.networks, p.Masked())
			continue
		}
		if ip, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
			a.networks = append(a.networks, netip.PrefixFrom(ip, ip.BitLen()))
			continue
		}
		a.hosts[strings.TrimSuffix(s, ".")] = true
	}
	return a
}

func (a allowance) host(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return a.hosts[host] || a.hosts[net.JoinHostPort(host, port)]
}

func (a allowance) addr(ip netip.Addr) bool {
	for _, p := range a.networks {
		if p.Contains(ip) || p.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

// blockedError says why an address is not reached.
type blockedError struct{ host, addr string }

func (e *blockedError) Error() string {
	s := fmt.Sprintf("%s leads to %s, which is not on the public internet, so it was not opened", e.host, e.addr)
	if e.host == e.addr {
		s = fmt.Sprintf("%s is not on the public internet, so it was not opened", e.addr)
	}
	return s + "; the user can allow it with allow_private under [web] in config.toml"
}

// dialTimeout bounds the time to reach one host, all its addresses together.
const dialTimeout = 10 * time.Second

// guardedDial dials as net.Dialer does, but looks at the address that is really
// about to be connected to. The check stands behind the name lookup, so that a
// name which changes its answer between two lookups gains nothing.
func guardedDial(allow allowance, resolver *net.Resolver) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", address, err)
		}
		open := allow.host(host, port)
		d := net.Dialer{Timeout: dialTimeout, Resolver: resolver}
		d.Control = func(_, resolved string, _ syscall.RawConn) error {
			if open {
				return nil
			}
			return checkResolved(allow, host, resolved)
		}
		return d.DialContext(ctx, network, address)
	}
}

// checkResolved decides about one resolved address, "ip:port".
func checkResolved(allow allowance, host, resolved string) error {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &blockedError{host, resolved}
	}
	if isPublic(ap.Addr()) || allow.addr(ap.Addr()) {
		return nil
	}
	return &blockedError{host, ap.Addr().String()}
}

// numericHost reports a host that some programs read as an IPv4 address in
// another notation (decimal, octal, hexadecimal, shortened), as the URL standard
// of browsers does: its last label is a number. Ordinary dotted addresses are not
// meant.
func numericHost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if host == "" || strings.ContainsRune(host, ':') {
		return false
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return false
	}
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if last == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		if rest == "" {
			return true
		}
		_, err := strconv.ParseUint(rest, 16, 64)
		return err == nil
	}
	return strings.Trim(last, "0123456789") == ""
}
