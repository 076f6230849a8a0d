#pragma once
#include <cstdint>
#include <vector>
#include <string>
#include <map>
#include "text.hpp"
namespace trubleu::chrf {
struct Profile { std::u32string s; };
struct Counts { double h[6], r[6], m[6]; };
class Profiles { public: std::vector<Profile> p; size_t size() const { return p.size(); } const Profile &operator[](size_t i) const { return p[i]; } };
inline bool space(uint32_t c){ return c==32||(c>=9&&c<=13)||(c>=28&&c<=31)||c==0x85||c==0xa0||c==0x1680||(c>=0x2000&&c<=0x200a)||c==0x2028||c==0x2029||c==0x202f||c==0x205f||c==0x3000; }
inline Profile profile_of(const Text &t){ Profile p; for(size_t i=0;i<t.length;++i){ uint32_t c = t.width==1? ((const uint8_t*)t.data)[i] : t.width==2? ((const uint16_t*)t.data)[i] : ((const uint32_t*)t.data)[i]; if(!space(c)) p.s.push_back(c);} return p; }
class Matcher { public: void compare(const Profile &a,const Profile &b,Counts &c){ for(int n=1;n<=6;++n){ std::map<std::u32string,int> A,B; double h=0,r=0,m=0; for(size_t i=0;i+n<=a.s.size();++i){A[a.s.substr(i,n)]++;h++;} for(size_t i=0;i+n<=b.s.size();++i){B[b.s.substr(i,n)]++;r++;} for(auto&[k,v]:A){auto f=B.find(k); if(f!=B.end()) m+=std::min(v,f->second);} c.h[n-1]=h;c.r[n-1]=r;c.m[n-1]=m; } } };
inline double f_score(const Counts &c,double beta){ double p=0,r=0;int k=0; for(int n=0;n<6;++n) if(c.h[n]>0&&c.r[n]>0){p+=c.m[n]/c.h[n];r+=c.m[n]/c.r[n];++k;} if(!k) return 0; p/=k;r/=k; double b=beta*beta; return b*p+r>0?(1+b)*p*r/(b*p+r):0; }
}
