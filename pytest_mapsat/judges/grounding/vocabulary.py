"""Words by which a name is told from common words. A list, not a parser: what it cannot tell is no claim."""

from __future__ import annotations

import re

#: Words that Chinese place names end in.
GENERIC = tuple(
    """地铁站 公交站 火车站 高铁站 站 公园 广场 酒店 宾馆 民宿 医院 学校 大学 学院 中学 小学 博物馆 博物院 图书馆 美术馆 展览馆 体育馆 大厦 大楼 中心 商场 商城 百货
    超市 市场 餐厅 饭店 酒楼 饭馆 面馆 茶馆 茶楼 茶室 咖啡馆 咖啡店 咖啡厅 书店 药店 药房 银行 码头 机场 大桥 寺 教堂 古城 古镇 老街 步行街 小区 花园 新村 社区
    公寓 山庄 家园 苑 工业区 工业园 工业园区 产业园 开发区 新区 园区 景区 度假区 湖 路 街 大道 高速 服务区 加油站 加气站 充电站 停车场 影城 影院 剧院 乐园 动物园
    植物园 湿地 渔具店 理发店 维修店 里弄 水库 古村 城堡 书院 客栈""".split()  # noqa: SIM905  a list of words
)

_FUNCTION = (
    "附近|一带|周边|方向|开进|开到|驶进|停在|停到|最近|推荐|选择|可以|位于|靠近|导航|前往|或者|以及|还是|直接|先去|再去|然后|接着|换乘|转乘|下车|上车|步行|骑行|开车|驾车|乘坐|地铁|公交|抵达|出发|沿着|途经|途径|进入|驶入"
    "|左转|右转|继续|如果|因为|所以|但是|不过|例如|比如|包括|属于|目的地|终点|起点|地址|就是|叫做|名为|来自|参观|游览|入住|预订|订了|安排|区域|线路|路线|通常|一般|沿线|路过|顺路"
)
#: What leads to a name and is no part of it.
CUT = re.compile(
    rf"(?:{_FUNCTION}|会(?![展议所同])|能(?!源)|有(?!限)|和(?![平谐])|经(?![济纬典])|向(?!阳)|开(?![发元放])|住(?!宅)|成(?!都)|进(?!贤)|过(?!街)|段(?!家)|(?<![首成京])都"
    "|[的个家几些这那哪去到从往离是与及或在找走坐乘逛看给把被让按比要想就也还再又很不没你我他她您它了着吗呢吧处座条间所片圈第做像为])"
)

#: Common words that alone make no name.
COMMON = re.compile(
    "大型|小型|中型|附近|周边|连锁|精品|普通|仿古|商业|步行|生态|海边|城市|国家|特色|小吃|美食|酒吧|地下|地面|地上|露天|立体|高速|充电|快充|超充|停车|加油|加气|综合|购物|休闲|儿童|亲子|历史"
    "|文化|古风|本地|当地|市区|城区|市中心|老城|新城|旅游|热门|著名|经典|主题|室内|室外|免费|公共|公司|工厂|电子|服装|纺织|五金|制造|食品|玩具|奶茶|咖啡|火锅|烧烤|中餐|西餐|快餐|茶饮"
    "|高端|高档|经济|舒适|快捷|民宿|最大|最好|更多|其他|其它|别的|部分|所有|各个|同一|另外|另一|安静|热闹|便宜|成熟|江边|湖边|山脚|路边|街边|出口|入口|前方|后方|沿途|途中|起点|终点|大家|自己|我们"
    "|你们|钓点|中国|人工|户外|滨江|滨海|农贸|批发|汽车|火车|地铁|公交|高铁|长途|客运|换乘|始发|中转|营业|配套|生活|居民|住宅|老旧|新建|热门|网红|打卡|会展|会议|服务|客服|游客|售票|急救|医疗|社区"
    "|健身|运动|体育|商务|办公|科技|创意|艺术|数据|物流|回家|前进|行驶|相反|两个|三个|单位|学校|海景|江景|湖景|宠物|无障碍|夜间|白天|晚上|早上|今天|明天|周末|节假日|位置|地方|方便|距离|时间"
    "|具体|完整|大概|比较|非常|真实|平时|工作|上班|通勤|清净|干净|环境|景色|风景|氛围|沿海|临近|直达|主要|常见|大多|多数|少量|多个|多家|每个|各种|一些|一个|一家|主干|快速|国道|省道|县道|环线|内环|外环|中环|辅助"
)
#: What ends like a name and is none.
NO_NAME = re.compile(
    "^(?:城|市|本|老|新)?.?新区$|(?:走|公|铁|道|线|马|顺|一|绕|问|迷|短|网|水|修|电|思|出|近|远|上|半|岔|套|同|末|让|堵|赶|门|带|多少|几)路$|(?:逛|小吃|美食|酒吧|商业|步行|古|整条|沿)街$|(?:本|到|进|出|同|网|车|总|两|几|每|下一|上一|坐|换乘|中转|服务|始发|起点|终点|客运|枢纽|多少)站$"
    "|(?:人工|江|环|沿|看|游)湖$|^(?:购物|活动|服务|游客|市|区|县|镇|商业|会展|会议|体育|文化|健身|交通|城市|新)中心$|以.{0,8}为中心$|^.{0,3}(?:大|小|高|老|夜)市场$|城中村"
)

#: English words that tell what sort of place a name is of.
TYPE_WORDS = frozenset(
    """station street road avenue lane square park hotel inn hostel cafe café coffee restaurant museum library hospital pharmacy clinic bridge tower airport mall market
    plaza garden gardens hall theatre theater temple pier terminal centre center bar bakery grill bistro tearoom teahouse tea room rooms kitchen house school university
    college church cathedral castle beach bay harbour harbor gallery zoo stadium arena cinema chargers charging garage supermarket shop store stop quay dock walk way drive hill lake island
    barber salon gym spa bank resort lodge diner pub brewery noodles pizzeria""".split()  # noqa: SIM905  a list of words
)

#: What may be added to a known name without making another place of it.
SOFT = re.compile("(?:地铁站|公交站|高铁站|火车站|地下停车场|停车场|景区|商圈|片区|站)$")


def cut(text: str, start: int, end: int) -> int:
    """Return where a name begins behind the words that lead to it."""
    last = start
    for match in CUT.finditer(text, start, end):
        last = match.end()
    return last
